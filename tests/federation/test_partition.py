from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedreg import ByClass, ByOwner, Dirichlet, FedregError, PowerLaw, Uniform

LABELS = np.random.default_rng(0).integers(0, 10, 1000)


def clients(partition, labels=LABELS, seed=0, owners=None):
    rows, offsets = (part.numpy() for part in partition.shares(len(labels), labels, owners, seed))
    return [rows[a:b] for a, b in pairwise(offsets)]


EVERY_KIND = [
    Uniform(sizes=7),
    Uniform(sizes="equal", clients=33),
    Uniform(sizes=PowerLaw(1.2, smallest=2), clients=50),
    Uniform(sizes=[5, 1, 40]),
    ByClass(sizes=8),
    ByClass(sizes=6, clients=100, classes=2),
    ByClass(sizes=PowerLaw(1.0, smallest=2, largest=60), clients=40),
    ByClass(sizes=[20, 3], classes=3),
    Dirichlet(0.1, sizes=10, clients=100),
    Dirichlet(0.001, sizes="equal", clients=60),
    Dirichlet(100.0, sizes=PowerLaw(0.5), clients=20),
]


@pytest.mark.parametrize("partition", EVERY_KIND, ids=str)
def test_every_example_at_most_once_and_no_client_empty(partition):
    owned = clients(partition)
    rows = np.concatenate(owned)
    assert len(np.unique(rows)) == len(rows)
    assert rows.min() >= 0
    assert rows.max() < len(LABELS)
    assert min(map(len, owned)) >= 1


@pytest.mark.parametrize("partition", EVERY_KIND, ids=str)
def test_the_seed_decides_everything(partition):
    first, again, other = (clients(partition, seed=seed) for seed in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert len(first) == len(other)
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    assert sorted(map(len, first)) == sorted(map(len, other))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_by_class_gives_so_many_classes_as_evenly_as_can_be(k):
    for rows in clients(ByClass(sizes=11, clients=60, classes=k)):
        counts = np.unique(LABELS[rows], return_counts=True)[1]
        assert len(counts) == k
        assert counts.sum() == 11
        assert counts.max() - counts.min() <= 1


def test_by_class_without_a_number_of_clients_makes_all_there_are():
    owned = clients(ByClass(sizes=8))
    assert len(owned) == sum(np.bincount(LABELS) // 8)


def test_power_law_sizes_fall_and_add_up():
    sizes = sorted((len(rows) for rows in clients(Uniform(PowerLaw(1.0, smallest=3), clients=50))), reverse=True)
    assert sum(sizes) == 1000
    assert sizes[-1] >= 3
    assert abs((sizes[0] - 3) / (sizes[9] - 3) - 10) < 1.5
    capped = [len(rows) for rows in clients(Uniform(PowerLaw(1.0, smallest=3, largest=20), clients=50))]
    assert max(capped) == 20


def test_dirichlet_has_dirichlets_moments_while_examples_last():
    """E[p_c^2] = (alpha + 1) / (k (k alpha + 1)); a multinomial draw of n adds (E[p] - E[p^2]) / n."""
    labels = np.repeat(np.arange(4), 50_000)
    alpha, n, k = 0.5, 40, 4
    shares = np.array(
        [np.bincount(labels[rows], minlength=k) / n for rows in clients(Dirichlet(alpha, n, 2000), labels)]
    )
    second = (alpha + 1) / (k * (k * alpha + 1))
    np.testing.assert_allclose(shares.mean(0), 1 / k, atol=0.03)
    np.testing.assert_allclose((shares**2).mean(), second + (1 / k - second) / n, rtol=0.04)


@given(st.floats(1e-4, 100), st.integers(1, 40), st.integers(0, 99))
@settings(deadline=None, max_examples=30)
def test_dirichlet_always_ends_and_uses_every_example(alpha, number, seed):
    owned = clients(Dirichlet(alpha, "equal", number), LABELS[:200], seed)
    assert len(np.unique(np.concatenate(owned))) == 200


def test_by_owner_is_what_the_owners_say():
    owners = ["b", "a", "b", "c"]
    owned = clients(ByOwner(), np.zeros(4, dtype=int), owners=owners)
    assert [rows.tolist() for rows in owned] == [[1], [0, 2], [3]]


NAMELESS = np.array(["a"] * 26 + ["b"] * 4 + ["c"] * 4 + ["d"] * 2 + [""] * 45)[
    np.random.default_rng(1).permutation(81)
]


def dealt(seed=0, owners=NAMELESS):
    """The clients' examples, those that have a name first."""
    owned = clients(ByOwner(nameless="in_proportion"), np.zeros(len(owners), dtype=int), seed, owners)
    return [(rows[np.asarray(owners)[rows] != ""], rows[np.asarray(owners)[rows] == ""]) for rows in owned]


def test_examples_without_an_owner_are_all_dealt_in_proportion():
    owned = dealt()
    assert sorted(np.concatenate([rows for pair in owned for rows in pair])) == list(range(81))
    for (named, others), name, size in zip(owned, "abcd", (26, 4, 4, 2), strict=True):
        assert named.tolist() == np.flatnonzero(name == NAMELESS).tolist()
        assert abs(len(others) - 45 * size / 36) < 1


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(0, 500), st.integers(0, 9))
@settings(deadline=None, max_examples=50)
def test_proportions_are_within_one_of_the_exact_ones(sizes, nameless, seed):
    owners = [i for i, size in enumerate(sizes) for _ in range(size)]
    owned = dealt(seed, [*map(str, owners), *[""] * nameless])
    assert sorted(len(named) for named, _ in owned) == sorted(sizes)
    assert sum(len(others) for _, others in owned) == nameless
    assert all(abs(len(others) * sum(sizes) - nameless * len(named)) < sum(sizes) for named, others in owned)


def test_the_seed_deals_examples_without_an_owner():
    first, again, other = ([rows.tolist() for _, rows in dealt(seed)] for seed in (0, 0, 1))
    assert first == again
    assert [set(rows) for rows in first] != [set(rows) for rows in other]
    drawn = {tuple(len(rows) for _, rows in dealt(seed, ["a", "b", "c", ""])) for seed in range(20)}
    assert drawn == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}


def test_a_name_is_asked_for_unless_it_may_be_missing():
    with pytest.raises(FedregError, match=r"45 of 81 examples have no owner; .*in_proportion") as caught:
        clients(ByOwner(), np.zeros(81, dtype=int), owners=NAMELESS)
    assert "\n" not in str(caught.value)
    with pytest.raises(FedregError, match="none of the 3 examples has an owner"):
        dealt(owners=["", "", ""])
    for owners in ([0, 1, 0], np.array([0, 1, 0]), torch.tensor([0, 1, 0]), ["a", "b", "a"]):
        owned = clients(ByOwner(nameless="in_proportion"), np.zeros(3, dtype=int), owners=owners)
        assert [rows.tolist() for rows in owned] == [[0, 2], [1]]


@pytest.mark.parametrize(
    ("partition", "said"),
    [
        (Uniform(sizes=0), "sizes = 0"),
        (Uniform(sizes="equal"), "say how many clients"),
        (Uniform(sizes=PowerLaw(1.0)), "say how many clients"),
        (Uniform(sizes="equal", clients=1001), "clients = 1001"),
        (Uniform(sizes=600, clients=2), "want 1200 examples and there are 1000"),
        (Uniform(sizes=1001), "not enough for one client"),
        (Uniform(sizes=[1, 0]), "leave none empty"),
        (Uniform(sizes=[]), "leave none empty"),
        (Uniform(sizes=[1, 2], clients=3), "2 sizes are given"),
        (Uniform(sizes=PowerLaw(1.0, smallest=30), clients=40), "need 1200 examples"),
        (ByClass(sizes=300, clients=2), "needs 300 examples of a class and the fullest has"),
        (ByClass(sizes=300), "needs 300 examples"),
        (ByClass(sizes=30, clients=33), "client 29 of 33"),
        (ByClass(sizes=5, classes=11), "classes = 11 a client, but there are 10"),
        (ByClass(sizes=5, classes=0), "classes = 0"),
        (ByClass(sizes=2, classes=3), "a client of 2 examples cannot have 3 classes"),
        (ByOwner(), "names no owners"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_dealt_is_said_in_one_line(partition, said):
    with pytest.raises(FedregError, match=said) as caught:
        clients(partition)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Dirichlet(0.0, 5), "alpha"), (lambda: PowerLaw(-1.0), "exponent"),
        (lambda: PowerLaw(1.0, smallest=0), "smallest"), (lambda: PowerLaw(1.0, smallest=5, largest=4), "largest = 4"),
    ],
)  # fmt: skip
def test_impossible_settings_are_refused(make, said):
    with pytest.raises(FedregError, match=said):
        make()


@pytest.mark.parametrize(
    ("owners", "said"),
    [
        (np.array([1.0, np.nan, 2.0]), "the owner of example 1 is nan"),
        (torch.tensor([1.0, 2.0, torch.nan]), "the owner of example 2 is nan"),
        (np.array(["a", None, "b"], dtype=object), "all numbers or all names"),
        (np.array([[1], [2], [3]]), "owners have shape"),
    ],
)
def test_owners_that_are_none_are_refused(owners, said):
    with pytest.raises(FedregError, match=said):
        clients(ByOwner(), np.zeros(3, dtype=int), owners=owners)


def test_an_array_of_names_is_as_good_as_a_list():
    names = ["b", "a", "b"]
    for owners in (names, np.array(names), np.array(names, dtype=object)):
        assert [sorted(c) for c in clients(ByOwner(), np.zeros(3, dtype=int), owners=owners)] == [[1], [0, 2]]


def test_nothing_to_deal():
    for partition in (Uniform(sizes=1), ByOwner()):
        with pytest.raises(FedregError, match="no examples"):
            clients(partition, np.zeros(0, dtype=int), owners=[])


def test_labels_that_are_no_classes_cannot_be_dealt_by_class():
    for partition in (ByClass(sizes=2), Dirichlet(1.0, sizes=2)):
        with pytest.raises(FedregError, match="needs classes, and these labels are not"):
            partition.shares(10, None, None, 0)
    assert len(Uniform(sizes=2).shares(10, None, None, 0).offsets) == 6
