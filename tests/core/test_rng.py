import torch
from scipy.stats import kstest
from torch.func import vmap

from fedreg.core.rng import WORD, normal, philox, rng


def words(key: tuple[int, int], counter: tuple[int, int]) -> list[str]:
    return [f"{int(w):08x}" for w in philox(joined(*key), joined(*counter)[None])]


def joined(low: int, high: int) -> torch.Tensor:
    """Two words as one signed integer of 64 bits."""
    return torch.tensor(low | ((high - 2**32 if high >= 2**31 else high) << 32))


def reference(key: tuple[int, int], counter: tuple[int, int, int, int]) -> list[str]:
    """Philox4x32-10 in Python integers, as its paper writes it."""
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & WORD, (p0 >> 32) ^ c[3] ^ k1, p0 & WORD]
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return [f"{w:08x}" for w in c]


def test_the_reference_gives_the_known_answers_of_random123():
    assert reference((0, 0), (0, 0, 0, 0)) == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]
    assert reference((WORD, WORD), (WORD,) * 4) == ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"]
    pi = (0xA4093822, 0x299F31D0), (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
    assert reference(*pi) == ["d16cfe09", "94fdcceb", "5001e420", "24126ea1"]


def test_philox_is_the_reference():
    for key in [(0, 0), (1, 0), (WORD, WORD), (0xA4093822, 0x299F31D0)]:
        for counter in [(0, 0), (7, 0), (WORD, 3), (0x243F6A88, 0x85A308D3)]:
            assert words(key, counter) == reference(key, (*counter, 0, 0))


def test_normal_is_normal_and_depends_on_the_key_alone():
    like = torch.empty(40_001)
    a, b = normal(torch.tensor(1), like), normal(torch.tensor(2), like)
    assert len(a) == 40_001
    assert torch.equal(a, normal(torch.tensor(1), like))
    assert kstest(a.numpy(), "norm").pvalue > 0.01
    assert kstest(normal(torch.tensor(3), like.double()).numpy(), "norm").pvalue > 0.01
    assert abs(torch.corrcoef(torch.stack([a, b]))[0, 1]) < 0.02
    assert abs(torch.corrcoef(torch.stack([a[:-1], a[1:]]))[0, 1]) < 0.02
    both = vmap(lambda key: normal(key, like))(torch.tensor([1, 2]))
    assert torch.equal(both, torch.stack([a, b]))


def test_a_generator_is_a_function_of_where():
    def draw(*where):
        return torch.randint(2**40, (1,), generator=rng(*where)).item()

    assert len({draw(0), draw(0, "a"), draw(0, "a", 1), draw(1, "a", 1)}) == 4
    assert draw(0, "a", 1) == draw(0, "a", 1)
