"""What the gates of a gated model do, recorded and plotted."""
