import datasets
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import TensorDataset

from fedreg import ByClass, FedregError, Population

X = torch.arange(12.0).view(6, 2)
Y = torch.tensor([0, 1, 2, 0, 1, 2])
OWNERS = [7, 3, 7, 3, 7, 9]


def contents(population):
    """Each client's inputs and one-hot labels."""
    return [
        tuple(field.tolist() for field in population.data(i, 3, torch.zeros(1))[:2]) for i in range(len(population))
    ]


def test_four_ways_to_the_same_population():
    arrays = Population.from_owners(X.numpy(), Y.numpy(), OWNERS)
    pairs = Population.from_pairs([(X[[1, 3]], Y[[1, 3]]), (X[[0, 2, 4]], Y[[0, 2, 4]]), (X[[5]], Y[[5]])])
    dataset = Population.from_dataset(TensorDataset(X, Y), OWNERS)
    table = datasets.Dataset.from_dict({"pixels": X.tolist(), "label": Y.tolist(), "writer": [f"w{o}" for o in OWNERS]})
    hugging = Population.from_hugging_face(table, label="label", owner="writer")
    assert len(arrays) == 3
    assert contents(arrays) == contents(pairs) == contents(dataset) == contents(hugging)
    assert contents(arrays)[0] == ([[2.0, 3.0], [6.0, 7.0]], [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])


def pixels(kind):
    """A table of two grey images, all of whose pixels are 51, a fifth of 255."""
    grey = np.full((4, 4), 51, dtype=np.uint8)
    images = [Image.fromarray(grey)] * 2 if isinstance(kind, datasets.Image) else [grey] * 2
    features = datasets.Features({"image": kind, "label": datasets.Value("int64"), "who": datasets.Value("string")})
    return datasets.Dataset.from_dict({"image": images, "label": [0, 1], "who": ["a", "b"]}, features=features)


@pytest.mark.parametrize(
    ("kind", "shape"), [(datasets.Array2D((4, 4), "uint8"), (2, 4, 4)), (datasets.Image(), (2, 1, 4, 4))]
)
def test_images_of_a_hugging_face_dataset_become_numbers_between_0_and_1(kind, shape):
    population = Population.from_hugging_face(pixels(kind), label="label", owner="who")
    assert population.x.shape == shape
    assert population.x.dtype == torch.float32
    assert population.x.unique().tolist() == pytest.approx([0.2])
    with pytest.raises(FedregError, match=r"owner = 'writer'.*'who'"):
        Population.from_hugging_face(pixels(kind), label="label", owner="writer", inputs="image")


def test_a_population_shares_its_arrays():
    population = Population.from_owners(X, Y, OWNERS)
    assert population.x.data_ptr() == X.data_ptr()


def test_data_has_the_parameters_kind():
    data = Population.from_owners(X, Y, OWNERS).data(1, 5, torch.zeros(1, dtype=torch.float64))
    assert {field.dtype for field in (data.x, data.y, data.w)} == {torch.float64}
    assert data.crops == ()
    assert data.y.shape == (3, 5)
    integers = Population.from_owners(X.long(), Y, OWNERS).data(1, 3, torch.zeros(1))
    assert integers.x.dtype == torch.int64


def test_the_summary_says_what_there_is():
    summary = Population.from_owners(X, Y, OWNERS).summary()
    assert summary[:4] == (3, 6, (1, 2.0, 3), (1, 2.0, 3))
    same = Population.from_owners(X + 0, Y, OWNERS).summary()
    assert summary.hash == same.hash
    assert Population.from_owners(X, Y, [7, 3, 7, 3, 9, 7]).summary().hash != summary.hash
    assert Population.from_owners(X, Y.flip(0), OWNERS).summary().hash != summary.hash
    assert Population.from_owners(X, Y.float(), OWNERS).summary().classes is None


def test_soft_labels_can_be_dealt_by_class():
    soft = torch.eye(3)[Y]
    population = Population.from_partition(X, soft, ByClass(sizes=2))
    assert len(population) == 3
    assert all(population.data(i, 3, X[0]).y.unique(dim=0).shape[0] == 1 for i in range(3))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Population.from_owners(X, Y[:5], OWNERS), "6 inputs|6 owners"),
        (lambda: Population.from_owners(X, Y, OWNERS[:5]), "5 owners are given for 6 examples"),
        (lambda: Population.from_pairs([]), "no clients"),
        (lambda: Population.from_pairs([(X, Y), (X[:0], Y[:0])]), "client 1 has no examples"),
        (lambda: Population.from_pairs([(X, Y[:3])]), "client 0 has 6 inputs but 3 labels"),
        (lambda: Population.from_pairs([(X, Y), (X[:, :1], Y)]), "client 1 has another shape"),
        (lambda: Population.from_owners(X / 0, Y, OWNERS), "inputs of example 0 are not all finite"),
        (lambda: Population.from_owners(X, torch.tensor([0, 1, 2, 0, float("nan"), 1]), OWNERS), "labels of example 4"),
    ],
)
def test_what_is_no_population_is_refused(make, said):
    with pytest.raises(FedregError, match=said):
        make()
