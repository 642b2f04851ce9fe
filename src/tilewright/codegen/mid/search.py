"""Choosing one candidate per operator along a region, conversions included.

A beam of partial plans goes through the groups in order. A partial plan knows where each live value
is; of plans that agree on that, the best stays. Plans are ranked by cycles plus `price` times the
resident bytes they claim, so a higher price buys fewer copies of weights. The body of a repeat is
searched once; what it carries must lie at its end as it lay at its start.
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field

from tilewright.codegen.mid.candidates import Operand, OperandSpec, OperatorCandidate
from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.conversions import Conversions, conversions, total
from tilewright.codegen.mid.cost import OperatorCost
from tilewright.codegen.mid.distributions import spread_format
from tilewright.codegen.mid.faults import DoesNotFit, PlanError
from tilewright.codegen.mid.groups import Group, grouped
from tilewright.codegen.mid.kernels import KernelPolicy
from tilewright.codegen.mid.operators.choosing import GATHERING, PRECISIONS, candidates
from tilewright.codegen.mid.rows import received_runs
from tilewright.codegen.mid.storage import Storage
from tilewright.graph import Formula, Region, Value
from tilewright.target import rates


@dataclass(frozen=True, slots=True)
class Prices:
    """What resident memory costs.

    `general` is in cycles per byte. Groups in `allowed` (by the id of their first operation) pay
    nothing, up to so many bytes on a tile.
    """

    general: float
    allowed: tuple[tuple[int, int], ...] = ()

    def of(self, group: Group) -> float:
        return self.general if self.allowance(group) is None else 0.0

    def allowance(self, group: Group) -> int | None:
        return dict(self.allowed).get(group.first.id)

    def with_allowance(self, group: int, size: int) -> "Prices":
        return Prices(self.general, (*self.allowed, (group, size)))


_NO_LIMIT = 1 << 40
"""Bytes."""
BEAM = 16
"""Partial plans that are kept."""
GROWN = 2 * BEAM
"""Plans that an operator's candidates make of them, before those that agree compete."""
MOST_CANDIDATES = 12
"""Of one operator that are followed from a partial plan."""


@dataclass(frozen=True, slots=True)
class Open:
    """A source, or the view of one, whose format is not chosen yet.

    `root` is the id of the value that the host loads; `views` are what it does to it before.
    """

    root: int
    views: tuple[Formula, ...]
    weight: bool


Place = Storage | Open

Key = tuple[int, tuple[Formula, ...]]
"""Root and views of an open place."""

Homes = Mapping[Key, Storage]
"""Formats chosen for open sources."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was decided for one group."""

    group: Group
    candidate: OperatorCandidate | None
    """None for views, constants and repeats."""
    conversions: tuple[Conversions, ...] = ()
    """Of each operand."""
    adjustment: OperatorCost = OperatorCost()  # noqa: RUF009 - immutable
    """To the candidate's cost: operands that lie in place, senders slower than receivers."""
    body: "RegionPlan | None" = None


@dataclass(frozen=True, slots=True)
class RegionPlan:
    """A region with every choice made."""

    places: Mapping[int, Place]
    """Of every value by id."""
    choices: tuple[Choice, ...]
    exits: tuple[Conversions, ...]
    """Of each result, to where it has to be."""
    homes: Homes
    """Formats chosen for open sources, by root and views."""
    cycles: float
    score: float
    """Cycles, and the price of the resident bytes that were claimed."""


@dataclass(slots=True)
class _State:
    places: dict[int, Place]
    homes: dict[Key, Storage]
    score: float
    cycles: float
    last: "_Link | None"


@dataclass(frozen=True, slots=True)
class _Link:
    choice: Choice
    before: "_Link | None"


@dataclass(slots=True)
class _Entered:
    """What enters the body of a repeat open, or has a format outside."""

    apart: bool
    """Whether the body may choose for what enters in two ways more than once."""
    keys: list[Key]
    sequences: dict[tuple[Key, ...], Open] = field(default_factory=dict)
    """By the keys of their values, what stands for them in the body."""


def _key(place: Open) -> Key:
    return place.root, place.views


def _overlap(one: Key, other: Key) -> bool:
    """Whether one is what the other is, or a view of it."""
    shared = min(len(one[1]), len(other[1]))
    return one[0] == other[0] and one[1][:shared] == other[1][:shared]


class Searcher:
    """Searches of one graph; what they share is remembered."""

    def __init__(self, config: PipelineConfig) -> None:
        self.config = config
        self._groups: dict[tuple[int, ...], tuple[Group, ...]] = {}
        self._known: dict[object, list[OperatorCandidate]] = {}
        self._bodies: dict[object, RegionPlan] = {}

    def search(
        self,
        region: Region,
        places: Mapping[int, Place],
        prices: Prices,
        limit: int,
        exits: tuple[Storage | None, ...] | None = None,
        homes: Homes | None = None,
    ) -> RegionPlan:
        """The best plan found. `exits`: where results have to be in the end, None for anywhere.
        `homes`: formats of open sources that are chosen already.

        Raises PlanError (or DoesNotFit) if an operator has no candidate.
        """
        groups = self._grouped(region)
        needed = _last_needs(groups, region)
        states = [_State(dict(places), dict(homes or {}), 0.0, 0.0, None)]
        for index, group in enumerate(groups):
            states = self._advanced(states, group, prices, limit)
            states = _pruned(states, needed[index])
        ends = [self._ended(state, region, exits) for state in states]
        best = min(range(len(ends)), key=lambda i: ends[i][0])
        return self._plan(states[best], ends[best][1], ends[best][2])

    def _grouped(self, region: Region) -> tuple[Group, ...]:
        key = tuple(value.id for value in (*region.arguments, *region.results))
        if key not in self._groups:
            self._groups[key] = grouped(region)
        return self._groups[key]

    # one group

    def _advanced(
        self, states: list[_State], group: Group, prices: Prices, limit: int
    ) -> list[_State]:
        if group.is_constant:
            return [self._with_constant(state, group) for state in states]
        if group.is_view:
            return [self._with_view(state, group) for state in states]
        if group.repeat is not None:
            return [self._with_repeat(state, group, prices, limit) for state in states[:2]]
        price = prices.of(group)
        grown: list[tuple[float, int, Choice]] = []
        best: list[float] = []
        """Negated scores of the best so far, the worst of them first."""
        for number, state in enumerate(states):
            for candidate in self._ranked(state, group, prices, limit):
                if len(best) == GROWN and state.score + candidate.least_cycles >= -best[0]:
                    continue
                steps, claimed = self._adapted(state, group, candidate)
                cycles = candidate.cost.total + sum(total(each).total for each in steps)
                adjustment = self._adjustment(state, group, candidate, steps)
                score = state.score + cycles + adjustment.total + price * claimed
                grown.append((score, number, Choice(group, candidate, steps, adjustment)))
                if len(best) < GROWN:
                    heapq.heappush(best, -score)
                else:
                    heapq.heappushpop(best, -score)
        grown.sort(key=lambda entry: entry[0])
        kept: dict[tuple[int, Storage], None] = {}
        result = []
        for score, number, choice in grown:
            assert choice.candidate is not None
            key = (number, choice.candidate.result)
            if key in kept:
                continue
            kept[key] = None
            result.append(_extended(states[number], choice, score, price))
            if len(result) >= GROWN:
                break
        return result

    def _ranked(
        self, state: _State, group: Group, prices: Prices, limit: int
    ) -> list[OperatorCandidate]:
        """The candidates to follow from a state, the most promising first."""
        found = self._candidates(state, group, limit)
        if (allowance := prices.allowance(group)) is not None:
            most = max(allowance, min(each.bytes.resident for each in found))
            found = [each for each in found if each.bytes.resident <= most]
        price = prices.of(group)
        found = sorted(found, key=lambda each: each.cost.total + price * each.bytes.resident)
        return found[:MOST_CANDIDATES]

    def _candidates(self, state: _State, group: Group, limit: int) -> list[OperatorCandidate]:
        gathers = isinstance(group.first.operator, GATHERING)
        operands = tuple(
            self._operand(state, group, index, gathers) for index in range(len(group.operands))
        )
        key = (group.first.id, operands, limit)
        if key not in self._known:
            found = candidates(group, operands, self.config, limit)
            if not found:
                raise self._nothing_fits(group, operands, limit)
            self._known[key] = found
        return self._known[key]

    def _nothing_fits(self, group: Group, operands: tuple[Operand, ...], limit: int) -> PlanError:
        roomy = candidates(group, operands, self.config, _NO_LIMIT)
        if not roomy:
            remedy = " ('predict' would)" if self.config.policy is KernelPolicy.BUILD else ""
            return PlanError(
                f"{group.label}: no candidate calls only kernels that exist; the policy "
                f"'{self.config.policy.value}' allows no others{remedy}"
            )
        needed = min(each.bytes.transient + each.bytes.result for each in roomy)
        return DoesNotFit(
            f"{group.label}: no candidate works in {limit:,} bytes of a tile",
            group.label,
            needed,
            limit,
        )

    def _operand(self, state: _State, group: Group, index: int, gathers: bool) -> Operand:
        value = group.operands[index]
        place = state.places[value.id]
        type = value.type
        precision = PRECISIONS[type.dtype]
        home = self._home(state, place)
        is_open = home is None
        known = None if gathers else home
        weight = is_open and isinstance(place, Open) and place.weight
        return Operand(type.shape, precision, type.format.scale, known, weight)

    def _home(self, state: _State, place: Place) -> Storage | None:
        """Where a value is, or None for a source whose format is still open."""
        if isinstance(place, Storage):
            return place
        return state.homes.get((place.root, place.views))

    def _adapted(
        self, state: _State, group: Group, candidate: OperatorCandidate
    ) -> tuple[tuple[Conversions, ...], int]:
        """Conversions of each operand, and the resident bytes that open operands claim."""
        steps, claimed = [], 0
        taken: dict[Key, Storage] = {}
        for value, spec in zip(group.operands, candidate.operands, strict=True):
            place = state.places[value.id]
            home = self._home(state, place)
            if home is None:
                assert isinstance(place, Open)
                key = (place.root, place.views)
                home = taken.get(key)
                if home is None:
                    home = taken[key] = spec.home
                    claimed += home.layout.shard_bytes if place.weight else 0
            steps.append(conversions(home, spec, value.type.format.scale, self.config.model))
        return tuple(steps), claimed

    def _adjustment(
        self,
        state: _State,
        group: Group,
        candidate: OperatorCandidate,
        steps: tuple[Conversions, ...],
    ) -> OperatorCost:
        """What the operands' places change about the candidate's cost."""
        if all(spec.storage is not None for spec in candidate.operands):
            return OperatorCost()
        sent = 0
        operands = []
        for value, spec, converted in zip(group.operands, candidate.operands, steps, strict=True):
            home = self._home(state, state.places[value.id]) or spec.home
            home = converted[-1].target if converted else home
            operands.append(home)
            if spec.storage is None:
                sent = max(sent, home.layout.shard_bytes)
        saved = candidate.saved(tuple(operands)) + _messages(candidate, operands)
        exchange = candidate.cost.exchange + saved.exchange
        late = self.config.model.send_cycles(sent) - exchange if exchange > 0 else 0.0
        return saved + OperatorCost(exchange=max(0.0, late))

    def _with_constant(self, state: _State, group: Group) -> _State:
        value = group.results[0]
        state.places[value.id] = Open(value.id, (), weight=True)
        state.last = _Link(Choice(group, None), state.last)
        return state

    def _with_view(self, state: _State, group: Group) -> _State:
        value, operand = group.results[0], group.operands[0]
        place = state.places[operand.id]
        home = self._home(state, place)
        if home is not None:
            state.places[value.id] = home.viewed(group.formula, value.type.shape)
        else:
            assert isinstance(place, Open)
            views = (*place.views, group.formula)
            state.places[value.id] = Open(place.root, views, place.weight)
        state.last = _Link(Choice(group, None), state.last)
        return state

    # repeats

    def _with_repeat(self, state: _State, group: Group, prices: Prices, limit: int) -> _State:
        """With each sequence in a format of its own, unless these differ for one of its values."""
        body = self._known_body(state, group, prices, limit, apart=True)
        homes = self._homes_of_body(state, group, body)
        if homes is None:
            body = self._known_body(state, group, prices, limit, apart=False)
            homes = self._homes_of_body(state, group, body)
            assert homes is not None
        return self._with_body(state, group, body, homes)

    def _known_body(
        self, state: _State, group: Group, prices: Prices, limit: int, apart: bool
    ) -> RegionPlan:
        """`apart`: as if no value entered in two ways, with a format for each."""
        repeat = group.repeat
        assert repeat is not None
        given = repeat.parts(group.operands)
        arguments = repeat.arguments
        places: dict[int, Place] = {}
        for outer, argument in zip(given.invariants, arguments.invariants, strict=True):
            places[argument.id] = self._settled(state, state.places[outer.id])
        opened = [place for place in places.values() if isinstance(place, Open)]
        roots = {place.root for place in opened}
        inherited = {key: home for key, home in state.homes.items() if key[0] in roots}
        entered = _Entered(apart, [*state.homes, *map(_key, opened)])
        for values, (argument,) in zip(given.sequences, arguments.sequences, strict=True):
            places[argument.id] = self._sequence_place(state, values, argument, entered)
        key = (group.first.id, tuple(places.items()), tuple(inherited.items()), prices, limit)
        if key not in self._bodies:
            self._bodies[key] = self._body(group, places, inherited, prices, limit)
        return self._bodies[key]

    def _settled(self, state: _State, place: Place) -> Place:
        home = self._home(state, place)
        return place if home is None else home

    def _sequence_place(
        self, state: _State, values: tuple[Value, ...], argument: Value, entered: "_Entered"
    ) -> Place:
        """Open if all values of the sequence are; else one format for all."""
        places = [state.places[value.id] for value in values]
        opened = [place for place in places if isinstance(place, Open)]
        keys = tuple(map(_key, opened))
        if len(opened) < len(places) or any(key in state.homes for key in keys):
            return self._default(argument)
        if keys in entered.sequences:
            return entered.sequences[keys]
        if not entered.apart and any(_overlap(a, b) for a in keys for b in entered.keys):
            return self._default(argument)
        place = Open(argument.id, (), all(each.weight for each in opened))
        entered.sequences[keys] = place
        entered.keys += keys
        return place

    def _default(self, value: Value) -> Storage:
        precision = PRECISIONS[value.type.dtype]
        format = spread_format(value.type.shape, precision, self.config.tiles)
        return Storage(format.with_precision(precision, value.type.format.scale), value.type.shape)

    def _body(
        self,
        group: Group,
        places: dict[int, Place],
        homes: Homes,
        prices: Prices,
        limit: int,
    ) -> RegionPlan:
        """The body's plan, with what it carries where that is made best, or spread evenly."""
        repeat = group.repeat
        assert repeat is not None
        arguments = repeat.arguments.carried
        spread = tuple(self._default(argument) for argument in arguments)

        def searched(carried: tuple[Storage, ...], exits: tuple[Storage | None, ...]) -> RegionPlan:
            entered = dict(zip((each.id for each in arguments), carried, strict=True))
            return self.search(repeat.body, {**places, **entered}, prices, limit, exits, homes)

        anywhere = searched(spread, (None,) * len(spread))
        made = tuple(
            _or_default(anywhere.places.get(result.id), default)
            for result, default in zip(repeat.body.results, spread, strict=True)
        )
        plans = [searched(carried, carried) for carried in dict.fromkeys((made, spread))]
        return min(plans, key=lambda plan: plan.score)

    def _with_body(
        self, state: _State, group: Group, body: RegionPlan, homes: dict[Key, Storage]
    ) -> _State:
        repeat = group.repeat
        assert repeat is not None
        steps = [
            self._entering(state, homes, value, target)
            for value, target in zip(group.operands, _entrances(group, body), strict=True)
        ]
        cycles = body.cycles * repeat.count + sum(total(each).total for each in steps)
        places = dict(state.places)
        for value, argument in zip(group.results, repeat.arguments.carried, strict=True):
            places[value.id] = body.places[argument.id]
        return _State(
            places,
            homes,
            state.score + cycles + (body.score - body.cycles) * repeat.count,
            state.cycles + cycles,
            _Link(Choice(group, None, tuple(steps), body=body), state.last),
        )

    def _homes_of_body(
        self, state: _State, group: Group, body: RegionPlan
    ) -> dict[Key, Storage] | None:
        """Formats known outside, and those that the body chose for the values given to it; None if
        it chose two for one of them."""
        repeat = group.repeat
        assert repeat is not None
        given, arguments = repeat.parts(group.operands), repeat.arguments
        of_sequence = {argument.id: i for i, (argument,) in enumerate(arguments.sequences)}
        homes = dict(state.homes)
        for (root, views), home in body.homes.items():
            keys = [(root, views)]
            if root in of_sequence:
                places = [state.places[value.id] for value in given.sequences[of_sequence[root]]]
                opened = [place for place in places if isinstance(place, Open)]
                keys = [(place.root, (*place.views, *views)) for place in opened]
            if any(homes.setdefault(key, home) != home for key in keys):
                return None
        return homes

    def _entering(
        self,
        state: _State,
        homes: dict[Key, Storage],
        value: Value,
        target: Storage | None,
    ) -> Conversions:
        """What brings an operand of a repeat to where its body has it."""
        if target is None:
            return ()
        place = state.places[value.id]
        home = place if isinstance(place, Storage) else homes.get((place.root, place.views))
        if home is None:
            assert isinstance(place, Open)
            homes[(place.root, place.views)] = home = target
        spec = OperandSpec(target.format.precision, target, target)
        return conversions(home, spec, value.type.format.scale, self.config.model)

    # the end of a region

    def _ended(
        self, state: _State, region: Region, exits: tuple[Storage | None, ...] | None
    ) -> tuple[float, tuple[Conversions, ...], dict[Key, Storage]]:
        homes = dict(state.homes)
        steps = []
        for value, target in zip(
            region.results, exits or (None,) * len(region.results), strict=True
        ):
            place = state.places[value.id]
            if isinstance(place, Open) and (place.root, place.views) not in homes:
                homes[(place.root, place.views)] = target or self._default(value)
            steps.append(self._entering(state, homes, value, target))
        return state.score + sum(total(each).total for each in steps), tuple(steps), homes

    def _plan(
        self,
        state: _State,
        exits: tuple[Conversions, ...],
        homes: dict[Key, Storage],
    ) -> RegionPlan:
        choices = []
        link = state.last
        while link is not None:
            choices.append(link.choice)
            link = link.before
        leaving = sum(total(each).total for each in exits)
        return RegionPlan(
            state.places,
            tuple(reversed(choices)),
            exits,
            homes,
            state.cycles + leaving,
            state.score + leaving,
        )


def _messages(candidate: OperatorCandidate, operands: list[Storage]) -> OperatorCost:
    """What gathering costs more, or less, than the candidate counts, by where operands lie."""
    more = 0.0
    for each in candidate.in_place:
        source = operands[each.operand]
        if source == each.storage or source.shape != each.storage.shape:
            continue
        runs, size = received_runs(source, each.storage), each.storage.layout.shard_bytes
        more += (runs - each.messages) * rates.MESSAGE_RECEIVED.value
        is_paired = each.shared_by_pairs and size >= runs * rates.LEAST_PAIRED_BYTES
        more += (each.is_paired - is_paired) * size * _PAIRS_SAVE
    return OperatorCost(exchange=more)


_PAIRS_SAVE = 1 / rates.EXCHANGE_BYTES_PER_CYCLE - 1 / rates.PAIRED_BYTES_PER_CYCLE
"""Cycles for each byte."""


def _entrances(group: Group, body: RegionPlan) -> list[Storage | None]:
    """Where a body has each operand of its repeat; None for what is open or stays where it is."""
    repeat = group.repeat
    assert repeat is not None
    arguments = repeat.arguments
    wanted: list[Storage | None] = []
    for argument in arguments.carried:
        place = body.places[argument.id]
        assert isinstance(place, Storage)
        wanted.append(place)
    wanted += [None] * len(arguments.invariants)
    for (argument,) in arguments.sequences:
        place = body.places[argument.id]
        wanted += [place if isinstance(place, Storage) else None] * repeat.count
    return wanted


def _or_default(place: Place | None, default: Storage) -> Storage:
    """Where a carried value can stay: a place of its own, not a view of others."""
    if isinstance(place, Storage) and place.view is None:
        return place
    return default


def _extended(state: _State, choice: Choice, score: float, price: float) -> _State:
    candidate, group = choice.candidate, choice.group
    assert candidate is not None
    places, homes = dict(state.places), dict(state.homes)
    claimed = 0
    for value, spec in zip(group.operands, candidate.operands, strict=True):
        place = places[value.id]
        if isinstance(place, Open) and (place.root, place.views) not in homes:
            homes[(place.root, place.views)] = spec.home
            claimed += spec.home.layout.shard_bytes if place.weight else 0
    places[group.results[0].id] = candidate.result
    cycles = score - state.score - price * claimed
    return _State(
        places,
        homes,
        score,
        state.cycles + cycles,
        _Link(choice, state.last),
    )


def _last_needs(groups: tuple[Group, ...], region: Region) -> list[frozenset[int]]:
    """For each group, the values that are needed after it."""
    needed = {value.id for value in region.results}
    after = []
    for group in reversed(groups):
        after.append(frozenset(needed))
        needed |= {value.id for value in group.operands}
    return after[::-1]


def _pruned(states: list[_State], live: frozenset[int]) -> list[_State]:
    """The best of each set that agrees on where live values are; of these the best."""
    best: dict[tuple[tuple[int, Place], ...], _State] = {}
    for state in sorted(states, key=lambda state: state.score):
        where = tuple((key, place) for key, place in state.places.items() if key in live)
        best.setdefault(where, state)
    return list(best.values())[:BEAM]
