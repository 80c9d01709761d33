"""What ``make_drafts`` did to a text."""

from ..data.draft_noise import NoiseCounts, NoiseRates


def summarise(
    path: str, output: str, rates: NoiseRates, counts: NoiseCounts, vocabulary: int
) -> str:
    """What was asked for and done; ``vocabulary``: tokens that replacements were sampled from."""

    def share(part: int, whole: int, asked: float) -> str:
        return f"{part:,} ({100 * part / max(whole, 1):.2f} %, asked for {100 * asked:g} %)"

    tokens, replaced = counts.tokens, counts.replaced
    lines = [
        f"{output}: {counts.lines:,} lines ({counts.empty:,} of them empty), "
        f"{tokens:,} tokens of {path}",
        f"dropped    {share(counts.dropped, tokens, rates.drop)}",
        f"repeated   {share(counts.repeated, tokens, rates.repeat)}",
        f"swapped    {share(counts.swapped, tokens, rates.swap)}",
        f"replaced   {share(replaced, tokens, rates.replace)}",
        f"  similar  {share(counts.similar, replaced, rates.similar)}",
        f"unchanged  {counts.unchanged:,} lines; emptied by --drop: {counts.emptied:,}",
    ]
    if rates.replace > 0:
        lines.append(f"replacements come from {vocabulary:,} tokens")
    return "\n".join(lines)
