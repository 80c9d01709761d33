"""Lines that are longer than a model reads: what a user can do about them."""

from collections.abc import Sequence

FLAGS = ("--max-source-positions", "--max-target-positions")
SKIP = "--skip-invalid-size-inputs-valid-test"


def way_out(
    sizes: Sequence[int],
    limits: Sequence[int],
    learnt: Sequence[int | None] | None,
    cut: bool = False,
    skip: bool = True,
) -> str:
    """What to do about a line that is too long.

    Args:
        sizes: its tokens: source, and what is held to the target's limit.
        limits: most tokens of source and target, or of any.
        learnt: most tokens that trained models read; None where a model is to be trained.
        cut: whether ``--truncate-source`` would help here where a source is too long.
        skip: whether such lines may be left out.
    """
    ways = []
    if learnt is None:
        ways.append(f"raise {', '.join(FLAGS)} or --max-tokens")  # fairseq takes the lowest
    else:
        higher = [
            f"{flag} (to {most} at most)"
            for flag, limit, most in zip(FLAGS, limits, learnt)
            if most is not None and most > limit
        ]
        ways += [f"raise {' and '.join(higher)}"] if higher else []
    if cut and sizes[0] > limits[0]:
        ways.append("give --truncate-source")
    ways.append("shorten such lines")
    if skip:
        ways.append(f"leave them out with {SKIP}")
    if len(ways) > 1:
        ways[-1] = f"or {ways[-1]}"
    return ", ".join(ways)


def tightest(*limits: object) -> tuple[int | None, int | None]:
    """Most source and target tokens under all limits, as models and tasks of fairseq tell them.

    Args:
        limits: of both sides, or one for both; None where there is none.
    """
    sides: tuple[list[int], list[int]] = ([], [])
    for limit in limits:
        pair = limit if isinstance(limit, (tuple, list)) else (limit, limit)
        for known, most in zip(sides, (pair[0], pair[-1])):
            if isinstance(most, (int, float)):
                known.append(int(most))
    source, target = (min(known, default=None) for known in sides)
    return source, target
