"""Neural building blocks: nn.Modules that know nothing of tasks."""
