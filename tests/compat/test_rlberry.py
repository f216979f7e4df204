"""Agents by rlberry's written contract; its manager runs them in drivers/."""

import json
import math

import numpy as np
import pytest

import uli_fast as uli
from tests.compat.cases import SMALL
from uli_fast._registry import learners
from uli_fast.compat import rlberry
from uli_fast.compat._tabular import tables
from uli_fast.errors import ArgumentError, StateError, UliError, UnsupportedError

TABULAR = [getattr(rlberry, f"{name}Agent") for name in learners(kind="policies", plain=True)]
FAST = {"schedule": (1e-4, 1e-4), "delta": 0.1}


class Space:
    def __init__(self, n):
        self.n = n


class Chain:
    """A FiniteMDP as rlberry writes it: arrays, and an end when a terminal state was acted in."""

    name = "Chain"

    def __init__(self, length=3, fail=0.2, terminal=True):
        S = length
        self.P, self.R = np.zeros((S, 2, S)), np.zeros((S, 2))
        for s in range(S):
            self.P[s, 0, max(s - 1, 0)] += 1 - fail
            self.P[s, 0, min(s + 1, S - 1)] += fail
            self.P[s, 1, min(s + 1, S - 1)] += 1 - fail
            self.P[s, 1, max(s - 1, 0)] += fail
        self.R[S - 1], self.R[0] = 1.0, 0.05
        self.initial_state_distribution, self.terminal = 0, terminal
        if terminal:
            self.P[S - 1], self.P[S - 1, :, S - 1] = 0.0, 1.0
        self.observation_space, self.action_space = Space(S), Space(2)
        self.rng = np.random.default_rng(0)
        self.steps = 0

    def is_terminal(self, s):
        return self.terminal and s == len(self.R) - 1

    def reseed(self, seeds):
        self.rng = np.random.default_rng(seeds)

    def reset(self, seed=None, options=None):
        self.state = self.initial_state_distribution
        return self.state, {}

    def step(self, a):
        s, self.steps = self.state, self.steps + 1
        self.state = int(self.rng.choice(len(self.R), p=self.P[s, a]))
        return self.state, self.R[s, a], self.is_terminal(s), False, {}


class Dense(Chain):
    """Four states and three actions at random, on which policies do draw their actions."""

    def __init__(self):
        super().__init__(4, terminal=False)
        drawn = uli.mdps.random_dense(4, 3, 1, seed=0)
        self.P, self.R, self.action_space = drawn.transitions[0], drawn.rewards[0], Space(3)


class Arms:
    """A bandit environment."""

    def __init__(self, means=(0.9, 0.2)):
        self.means, self.action_space = means, Space(len(means))

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        return 0, {}

    def step(self, a):
        return 0, float(self.rng.random() < self.means[a]), False, False, {}


def test_arrays_are_read_with_their_ends():
    """A terminal state earns once, when it is acted in, and never again."""
    mdp = tables(Chain(), 4)
    assert (mdp.n_states, mdp.horizon) == (4, 4) and mdp.low == 0.0 and mdp.high == 1.0
    assert (mdp.transitions[0, 2, :, 3] == 1.0).all() and not mdp.rewards[:, 3].any()
    env, total, n = Chain(), 0.0, 4000
    for _ in range(n):
        s, _ = env.reset()
        for h in range(4):
            s, r, terminated, _, _ = env.step(int(mdp.optimal_policy[h, s]))
            total += r
            if terminated:
                break
    assert total / n == pytest.approx(mdp.optimal_value, abs=4 / math.sqrt(n))
    assert tables(Chain(terminal=False), 4).n_states == 3
    spread = Chain()
    spread.initial_state_distribution = np.array([0.5, 0.5, 0.0])
    assert tables(spread, 2).initial.tolist() == [0.5, 0.5, 0.0, 0.0]


@pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
@pytest.mark.parametrize("kind", TABULAR, ids=lambda k: k.name)
def test_fit_eval_policy(kind):
    more = FAST if kind is TABULAR[0] else {"delta": 0.1}
    agents = [kind(Chain(), horizon=3, seeder=s, **more) for s in (1, 1, 2)]
    for agent in agents:
        agent.fit(budget=900)
    assert agents[0].runs.digest() == agents[1].runs.digest() != agents[2].runs.digest()
    once, twice = agents[0], kind(Chain(), horizon=3, seeder=1, **more)
    twice.fit(300)
    twice.fit(600)
    assert twice.budget == 900 and (twice.current() == once.current()).all()
    assert twice.runs.digest() == once.runs.digest()
    value = once.mdp.value(once.current())
    assert once.eval(n_simulations=500) == pytest.approx(value, abs=4 / math.sqrt(500))
    assert once.env.steps == 0  # simulated from its tables
    exact = kind(once.mdp, horizon=3, seeder=1, **more)
    exact.fit(900)
    assert exact.eval() == exact.mdp.value(exact.current())


def test_seeds_of_any_kind():
    """Seeders hold a SeedSequence; spawned ones share their entropy."""

    class Seeder:
        def __init__(self, seeds):
            self.seed_seq = seeds

    spawned = np.random.SeedSequence(3).spawn(2)
    given = [3, np.random.SeedSequence(3), Seeder(np.random.SeedSequence(3)), *map(Seeder, spawned)]
    seeds = [rlberry.UCBAgent(Arms(), seeder=x).seed for x in given]
    assert seeds[0] == seeds[1] == seeds[2] and len(set(seeds)) == 3
    agent = rlberry.UCBAgent(Arms(), seeder=1)
    agent.reseed(spawned[0])  # what the manager does before it fits
    assert agent.seed == seeds[3]
    assert rlberry.UCBAgent(Arms()).seed != rlberry.UCBAgent(Arms()).seed
    assert agent.env is not agent.eval_env and agent.env.rng.random() != agent.eval_env.rng.random()


def test_model_elimination_is_simulated():
    agent = rlberry.ModelEliminationAgent(Chain(), horizon=3, delta=0.1, seeder=1)
    agent.fit(500)
    agent.fit(500)
    again = rlberry.ModelEliminationAgent(Chain(), horizon=3, delta=0.1, seeder=1)
    again.fit(1000)
    assert (agent.current() == again.current()).all()
    gap = agent.mdp.gap(agent.current())
    assert gap <= agent.runs.certificates[0, -1] + 1e-12 and agent.runs.event_held.all()
    mixed = rlberry.ModelEliminationAgent(Chain(), horizon=3, play="stochastic", seeder=1)
    with pytest.raises(uli.errors.UnsupportedError, match="draws its actions"):
        mixed.fit(10)
    assert agent.mdp.successors is not None  # what the arrays call possible is known


def test_policies_differ_by_stage_and_say_so():
    agent = rlberry.UCBVIAgent(Chain(), horizon=3, seeder=1)
    with pytest.raises(UliError, match="fit"):
        agent.policy(0)
    agent._policy = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]], np.int8)
    assert [agent.policy(0, stage=h) for h in range(3)] == [1, 0, 0]
    with pytest.raises(ArgumentError, match="stage"):
        agent.policy(0)
    agent._policy = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]], np.int8)
    assert agent.mdp.decision_points[:, 0].tolist() == [True, True, False]  # the last is free
    assert agent.policy(0) == 1
    act = agent.begin()
    assert [act(0), act(1), act(1)] == [1, 1, 0]
    certain = rlberry.UCBVIAgent(Chain(fail=0.0), horizon=3)
    certain._policy = agent._policy
    assert certain.eval(n_simulations=2) == pytest.approx(0.05 + 0.0 + 1.0)  # up, up, the end
    assert certain.eval(eval_horizon=1) == pytest.approx(0.05)
    assert certain.eval(gamma=0.5) == pytest.approx(0.05 + 0.25)


@pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
def test_live_agents_learn_from_steps(tmp_path):
    agent = rlberry.PolicyEliminationAgent(Chain(), horizon=3, live=True, seeder=3, **FAST)
    agent.fit(400)
    assert agent.env.steps >= 800 and agent._live.episodes == 400
    assert agent._live.player.phase > 1
    with pytest.raises(uli.errors.NoGuaranteeError):
        agent.certificate()  # constants of one's own prove nothing
    again = rlberry.PolicyEliminationAgent.load(
        agent.save(tmp_path / "agent"), env=Chain(), horizon=3, live=True, **FAST
    )
    assert again._live.player.state() == agent._live.player.state()
    assert (again.current() == agent.current()).all() and again.budget == 400
    again.fit(10)
    assert again._live.player.phase >= agent._live.player.phase and again.budget == 410
    proved = rlberry.PolicyEliminationAgent(Chain(2), horizon=1, live=True, seeder=3)
    proved.fit(5)
    assert proved.certificate().proved
    for kind in (rlberry.UCBVIAgent, rlberry.UBEVAgent):
        with pytest.raises(UnsupportedError, match="no live player; ModelElimination has one"):
            kind(Chain(), horizon=3, live=True)
    with pytest.raises(ArgumentError, match="live"):
        rlberry.PolicyEliminationAgent(proved.mdp, horizon=1, live=True)


@pytest.mark.parametrize("play", ["deterministic", "stochastic"])
def test_live_model_elimination_is_one_path_however_it_is_cut(play, tmp_path):
    about = {"horizon": 4, "delta": 0.2, "play": play, "live": True, "growth": 0.3, "first": 4}

    def made(seeder=3):
        return rlberry.ModelEliminationAgent(Dense(), seeder=seeder, **about)

    def path(agent):
        return agent._live.player.state()

    agent = made()
    agent.fit(150)
    assert agent.env.steps == 4 * 150 and agent.certificate().envelope < math.inf
    assert agent.mdp.gap(agent.current()) <= agent.certificate().bound < 2.5
    mixed = [(np.asarray(policy) % 1.0 > 0.0).any() for policy in path(agent)["policies"]]
    assert sum(mixed) > 10 if play == "stochastic" else not any(mixed)
    value = agent.mdp.value(agent.current())
    assert agent.eval(n_simulations=500) == pytest.approx(value, abs=8 / math.sqrt(500))
    # Saved after 100 episodes, and gone on with in the same environment: the same episodes.
    half = made()
    half.fit(100)
    again = rlberry.ModelEliminationAgent.load(
        half.save(tmp_path / "half"), env=Dense(), seeder=9, **about
    )
    assert (again.current() == half.current()).all() and again.budget == 100
    again.env = half.env
    again.fit(50)
    assert path(again) == path(agent) and (again.current() == agent.current()).all()
    late = made(seeder=8)
    late.reseed(3)  # what the manager does before it fits
    late.fit(150)
    assert path(late) == path(agent)


# Parameters with which something happens early.
MORE = {
    "PhasedElimination": {"delta": 0.3},
    "Exp3P": {"horizon": 2000},
    "MetaElimination": {"base": SMALL.base, "mode": "sharp"},
}
BANDITS = [
    (getattr(rlberry, f"{name}Agent"), MORE.get(name, {}))
    for name in learners(kind="arms", plain=True)
]


@pytest.mark.parametrize(("kind", "more"), BANDITS, ids=lambda x: getattr(x, "name", ""))
def test_bandit_agents(kind, more, tmp_path):
    agents = [kind((Arms, {}), seeder=5, **more) for _ in range(2)]
    agents[0].fit(900)
    agents[1].fit(400)
    if kind.learner_type in (uli.SuccessiveElimination, uli.UCB, uli.Exp3P):
        agents[1] = kind.load(agents[1].save(tmp_path / "half"), env=Arms(), seeder=8, **more)
        agents[1].env = agents[0].env
    agents[1].fit(500)
    assert [agent.budget for agent in agents] == [900, 900]
    assert agents[0].policy() in (0, 1)
    assert 0.1 < agents[0].eval(eval_horizon=300) < 1.0
    if kind is rlberry.SuccessiveEliminationAgent:
        assert agents[0].policy() == 0 and agents[0].certificate().bound == 0.0
        assert agents[0].eval(eval_horizon=2000) == pytest.approx(0.9, abs=0.05)


@pytest.mark.parametrize(("kind", "more"), BANDITS, ids=lambda x: getattr(x, "name", ""))
def test_two_fits_are_one(kind, more):
    paths = []
    for budgets in ((600,), (200, 400)):
        agent = kind(Arms(), seeder=5, **more)
        for budget in budgets:
            agent.fit(budget)
        paths.append((agent._stepper().saved(), agent._total))
    assert paths[0] == paths[1]
    assert agent._scalars[-1] == ("mean_reward", agent._total / 600, 600)
    if kind is rlberry.UCBAgent:
        assert agent._total == agent._stepper().player.arm_state.total.sum()


@pytest.mark.parametrize(("kind", "more"), BANDITS, ids=lambda x: getattr(x, "name", ""))
def test_agents_survive_json(kind, more, tmp_path):
    agent = kind(Arms(), seeder=5, **more)
    agent.fit(300)
    agent.policy()  # a decision is open
    path = agent.save(tmp_path / "deep" / "agent.pickle")
    assert path.suffix == ".json" and json.loads(path.read_text(encoding="utf-8"))
    again = kind.load(path, env=Arms(), seeder=99, **more)
    assert again.policy() == agent.policy() and again.seed == agent.seed
    agent.env.reset(seed=7), again.env.reset(seed=7)
    agent.fit(300), again.fit(300)
    assert again._stepper().saved() == agent._stepper().saved()
    with pytest.raises(StateError, match="filename"):
        kind.load(path, env=Arms((0.1, 0.2, 0.3)), **more)


def test_writers_get_what_happened(tmp_path):
    class Writer:
        def __init__(self):
            self.rows = []

        def add_scalar(self, tag, value, step):
            self.rows.append((tag, value, step))

    agent, writer = rlberry.UCBVIAgent(Chain(), horizon=3, seeder=1), Writer()
    agent.set_writer(writer)
    agent.fit(100)
    agent.fit(100)
    steps = [step for _, _, step in writer.rows]
    assert writer.rows[0][0] == "regret" and steps == sorted(set(steps)) and steps[-1] == 200
    again = rlberry.UCBVIAgent.load(agent.save(tmp_path / "x"), env=Chain(), horizon=3)
    assert [tuple(row) for row in again._scalars] == agent._scalars


def test_what_cannot_be_kept_is_refused():
    with pytest.raises(ArgumentError, match="gamma"):
        rlberry.UCBVIAgent(Chain(), horizon=3, gamma=0.9)
    with pytest.raises(ArgumentError, match="horizon"):
        rlberry.UCBVIAgent(Chain(), horizon=0)
    with pytest.raises(ArgumentError, match="env"):
        rlberry.UCBVIAgent(Arms(), horizon=3)
    with pytest.raises(ArgumentError, match="budget"):
        rlberry.UCBVIAgent(Chain(), horizon=3).fit(0)
    agent = rlberry.UCBAgent(Arms())
    agent.fit(10)
    with pytest.raises(ArgumentError, match="seed_seq"):
        agent.reseed(3)
    simulated = rlberry.PolicyEliminationAgent(Chain(), horizon=1)
    with pytest.raises(UnsupportedError, match="runs"):
        simulated.certificate()
