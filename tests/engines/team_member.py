"""One process of a team: runs every method for a few rounds, and writes a hash of what came of each."""

import hashlib
import json
import sys
from pathlib import Path

from fedreg import engines, evaluate, federate
from fedreg.core.errors import Diverged, FedregError
from fedreg.engines import distributed, joined
from fedreg.engines.team import end
from fedreg.federation.examples import Examples
from tests.cases import METHODS, PLAN, THETA, F, population


def fingerprint(round, score):
    """A hash of all that a round holds, and of its score."""
    digest = hashlib.sha256(repr(score).encode())
    for part in (*round.server, *(leaf for i in sorted(round.owns) for leaf in round.owns[i])):
        digest.update(part.numpy().tobytes())
    return digest.hexdigest()


def fingerprints(engine, team):
    """The hash of each method's last round."""
    people = population()
    examples = Examples(people.x, people.y)
    found = {}
    for name, method in METHODS.items():
        last = list(federate(method, F, THETA, people, PLAN, engine=engine))[-1]
        score = None if name == "pfedgp" else evaluate(F, last.theta, examples, 7, team)
        found[name] = fingerprint(last, score)
    return found


def failures(team):
    """What each process says when something goes wrong in one of them."""
    said = []
    for error in (Diverged("client 3 sent numbers"), FedregError("the disk is full"), ZeroDivisionError("by zero")):
        try:
            with team.agreeing():
                if team.rank == team.size - 1:
                    raise error
        except Exception as seen:
            said.append(f"{type(seen).__name__}: {seen}")
    return said


if __name__ == "__main__":
    team = joined()
    found = {str(chunk): fingerprints(distributed(chunk, team), team) for chunk in (1, 2, 16)}
    told = team.tell("from the leader" if team.leads else None), [v["rank"] for v in team.gather({"rank": team.rank})]
    Path(sys.argv[1]).with_suffix(f".{team.rank}").write_text(json.dumps([found, failures(team), told]))
    assert engines.team_of(distributed(2, team)) is team
    end(0)
