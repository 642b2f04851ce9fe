"""How many examples random tests look at."""

from collections.abc import Sequence

from hypothesis import HealthCheck, settings

SEARCHING = "searching"
"""The profile of hypothesis for runs that look for what nobody has met."""

MORE = 20
"""How many times as many examples such a run looks at."""


def examples(
    count: int, *, allow: Sequence[HealthCheck] = (), deadline: int | None = None
) -> settings:
    """So many examples, or more in a run that searches; each within `deadline` milliseconds.

    `allow` are hypothesis' warnings that say nothing about the test.
    """
    searching = settings.get_current_profile_name() == SEARCHING
    return settings(
        max_examples=count * (MORE if searching else 1),
        suppress_health_check=[HealthCheck.too_slow, *allow],
        deadline=deadline,
    )
