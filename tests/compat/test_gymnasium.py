"""Agents in Gymnasium's loop, and our bandits as environments."""

import copy
import math
import subprocess
import sys
import types

import numpy as np
import pytest

import uli_fast as uli
from tests.compat.cases import SMALL
from uli_fast.compat.gymnasium import BanditAgent, PolicyAgent, TrainedAgent
from uli_fast.errors import ArgumentError, NoGuaranteeError, UliError, UnsupportedError
from uli_fast.players import PolicyDecision

gymnasium = pytest.importorskip("gymnasium")

LEARNER = uli.PolicyElimination(0.1, schedule=(1e-4, 1e-4))
H = 3


def lake(**more):
    return gymnasium.make("FrozenLake-v1", desc=["SH", "FG"], is_slippery=True, **more)


def loop(env, agent, episodes, seed=0):
    """The loop of the module's text; returns the rewards of the episodes."""
    rewards, total = [], 0.0
    observation, _ = env.reset(seed=seed)
    while len(rewards) < episodes:
        action = agent.act(observation)
        observation, reward, terminated, truncated, _ = env.step(action)
        agent.observe(observation, reward, terminated, truncated)
        total += reward
        if terminated or truncated or agent.done:
            assert agent.done
            rewards.append(total)
            total = 0.0
            observation, _ = env.reset()
    return rewards


@pytest.mark.filterwarnings("ignore::uli_fast.errors.SaturationWarning")
def test_the_agent_is_the_live_player_in_the_same_lake():
    env = lake()
    agent = PolicyAgent(env, LEARNER, horizon=H)
    rewards = loop(env, agent, 600)
    mdp = uli.TabularMDP.from_gymnasium(env, H)
    player = LEARNER.start(mdp.rewards, [0], mdp.low, mdp.high, decision_points=mdp.decision_points)
    for i in range(600):
        s, _ = env.reset(seed=0 if i == 0 else None)
        decision, states, actions, ended = player.ask(s), [], [], False
        for h in range(H):
            a = int(decision.policy[h, s])
            states.append(s)
            actions.append(a)
            if not ended:  # holes and the goal are absorbing
                s, _, ended, _, _ = env.step(a)
        player.tell(decision.id, states, actions)
    assert agent.player.state() == player.state() and player.phase > 1
    assert agent.episodes == 600 and sum(rewards) > 0
    assert (agent.current() == decision.policy).all()


def test_what_is_told_is_what_happened():
    """Policies at random, so that episodes end in the hole, at the goal and at the horizon."""
    env, rng, told, seen = lake(), np.random.default_rng(0), [], []
    agent = PolicyAgent(env, LEARNER, horizon=H)
    choices = rng.integers(4, size=(300, H, 4)).astype(np.int8)
    policies = iter(choices)
    agent.player.ask = lambda state: PolicyDecision(1, next(policies), 1.0)
    agent.player.tell = lambda id, states, actions: told.append((states, actions))
    observation, _ = env.reset(seed=1)
    path = [observation]
    while len(told) < 300:
        observation, reward, terminated, truncated, _ = env.step(agent.act(observation))
        agent.observe(observation, reward, terminated, truncated)
        path.append(int(observation))
        if agent.done:
            seen.append(path)
            observation, _ = env.reset()
            path = [observation]
    for path, policy, (states, actions) in zip(seen, choices, told, strict=True):
        full = path + [path[-1]] * H  # it stays where it ended
        assert states == full[:H]
        assert actions == [policy[h, s] for h, s in enumerate(states)]
    assert {path[-1] for path in seen} == {0, 1, 2, 3} and {len(p) for p in seen} == {2, 3, 4}


class Fixed:
    """What an environment with a table looks like."""

    def __init__(self, table, initial):
        self.P, self.initial_state_distrib = table, np.array(initial)


# State 1 is done and earns again if it is entered once more: a state more is needed.
TABLE = [
    [[(0.5, 0, 0.0, False), (0.5, 1, 1.0, True)], [(1.0, 0, 0.0, False)]],
    [[(1.0, 1, 1.0, True)], [(1.0, 0, 0.0, False)]],
]


def test_an_episode_that_ends_early_stays_where_the_table_says():
    agent = PolicyAgent(Fixed(TABLE, [1.0, 0.0]), LEARNER, horizon=3)
    assert agent.mdp.n_states == 3
    told = []
    agent.player.tell = lambda id, states, actions: told.append((states, actions))
    # The first policy may take action 1, which never ends: follow what it does.
    observation = 0
    for _ in range(3):
        action = agent.act(observation)
        assert agent.act(observation) == action
        agent.observe(1 if action == 0 else 0, 1.0, terminated=action == 0)
        if agent.done:
            break
    states, actions = told[0]
    assert len(states) == len(actions) == 3
    first_end = actions.index(0) if 0 in actions else 3
    assert states[first_end + 1 :] == [2] * (2 - first_end)
    hole = [[(0.5, 0, 0.0, False), (0.5, 1, 1.0, True)]] * 2, [[(1.0, 1, 0.0, True)]] * 2
    stays = PolicyAgent(Fixed(hole, [1.0, 0.0]), LEARNER, horizon=3)  # absorbing: no state more
    stays.player.tell = lambda id, states, actions: told.append((states, actions))
    action = stays.act(0)
    stays.observe(1, 1.0, terminated=True)
    assert stays.done and told[-1][0] == [0, 1, 1] and told[-1][1][0] == action


def test_steps_that_cannot_be_are_refused():
    env = lake()
    agent = PolicyAgent(env, LEARNER, horizon=H)
    with pytest.raises(UliError, match="act"):
        agent.observe(0, 0.0)
    agent.act(0)
    with pytest.raises(ArgumentError, match="never leads"):
        agent.observe(3, 1.0, terminated=True)
    with pytest.raises(ArgumentError, match="time limit"):
        agent.observe(0, 0.0, truncated=True)
    with pytest.raises(ArgumentError, match="observation"):
        agent.observe(9, 0.0)
    with pytest.raises(ArgumentError, match="the episode is in 0"):
        agent.act(2)
    agent.observe(2, 0.0)
    with pytest.raises(ArgumentError, match="the episode is in 2"):
        agent.act(0)  # reset in mid-episode
    with pytest.raises(ArgumentError, match="learner"):
        PolicyAgent(env, uli.UCBVI(), horizon=H)
    with pytest.raises(ArgumentError, match="learner: UBEV has no live player"):
        PolicyAgent(env, uli.UBEV(), horizon=H)
    with pytest.raises(ArgumentError, match="learner"):
        PolicyAgent(env, uli.UCB(), horizon=H)
    with pytest.raises(UnsupportedError, match="draws its actions"):
        TrainedAgent(env, uli.ModelElimination(play="stochastic"), H, 10)
    with pytest.raises(ArgumentError, match="learner"):
        TrainedAgent(env, uli.UCB(), H, 10)
    with pytest.raises(ArgumentError, match="horizon"):
        PolicyAgent(uli.mdps.river_swim(2, 2), LEARNER, horizon=3)
    with pytest.raises(ArgumentError, match=r"^horizon: .* policies that are listed"):
        PolicyAgent(gymnasium.make("FrozenLake-v1"), LEARNER, horizon=8)
    with pytest.raises(ArgumentError, match="table P"):
        PolicyAgent(object(), LEARNER, horizon=3)


PLAYS = ("deterministic", "stochastic")


def models(play="deterministic", **more):
    return uli.ModelElimination(0.2, play, **{"growth": 0.3, "first": 4, **more})


@pytest.mark.parametrize("play", PLAYS)
def test_model_elimination_is_the_live_player_in_the_same_lake(play):
    """Blocks end when they should, and actions are drawn by the seed and the episode alone."""
    env, learner = lake(), models(play, pooled=True)
    agent = PolicyAgent(env, learner, horizon=H, seed=5)
    rewards = loop(env, agent, 300)
    mdp = uli.TabularMDP.from_gymnasium(env, H)
    assert mdp.successors is not None and mdp.initial_support is not None
    player = learner.start(mdp.rewards, [0], mdp.low, mdp.high, mdp.decision_points, mdp.successors)
    for i in range(300):
        s, _ = env.reset(seed=0 if i == 0 else None)
        assert player.room > 0
        decision, states, actions, ended = player.ask(), [], [], False
        rng = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(i + 1,)))
        for h in range(H):
            chosen = decision.policy[h, s]
            a = int(chosen) if play == "deterministic" else int(rng.choice(4, p=chosen))
            states.append(s)
            actions.append(a)
            if not ended:
                s, _, ended, _, _ = env.step(a)
        player.tell(decision.id, states, actions)
    assert agent.player.state() == player.state() and len(player.memory.openings) > 5
    assert agent.episodes == 300 and sum(rewards) > 0
    assert (agent.current() == decision.policy).all()
    assert agent.current().shape == ((H, 4) if play == "deterministic" else (H, 4, 4))
    said = agent.certificate()
    assert said == player.certificate() and said.bound < 1.0
    assert said.envelope < math.inf  # no decision was asked for beyond its block
    assert agent.mdp.gap(agent.current()) <= said.bound


class Walk:
    """Steps through a TabularMDP; a step is drawn by its own seed."""

    def __init__(self, mdp, seed):
        self.mdp, self.rng = mdp, np.random.default_rng(seed)

    def reset(self, **_):
        self.h, self.s = 0, int(self.rng.choice(self.mdp.n_states, p=self.mdp.initial))
        return self.s, {}

    def step(self, a):
        law = self.mdp.transitions[self.h, self.s, a]
        reward, self.h = self.mdp.rewards[self.h, self.s, a], self.h + 1
        self.s = int(self.rng.choice(self.mdp.n_states, p=law))
        return self.s, reward, False, False, {}


def test_policies_that_draw_do_so_by_their_probabilities_and_the_seed():
    mdp = uli.mdps.random_dense(4, 3, 4, seed=1)  # on which policies do draw
    paths, drawn, taken, spread = [], 0, 0.0, 0.0
    for seed in (1, 1, 2):
        agent, env, path = PolicyAgent(mdp, models("stochastic"), 4, seed=seed), Walk(mdp, 0), []
        while agent.episodes < 400:
            s, _ = env.reset()
            episode = np.random.SeedSequence(seed, spawn_key=(agent.episodes + 1,))
            rng = np.random.default_rng(episode)
            for h in range(4):
                a = agent.act(s)
                assert agent.act(s) == a  # looking twice draws once
                law = agent.current()[h, s]
                assert law[a] > 0.0 and a == rng.choice(3, p=law)
                if law.max() < 1.0 and paths:  # not the same draws twice
                    likely = int(law.argmax())
                    drawn, taken = drawn + 1, taken + float(a == likely) - law[likely]
                    spread += law[likely] * (1.0 - law[likely])
                path.append((s, a))
                s, reward, *_ = env.step(a)
                agent.observe(s, reward)
            assert agent.done
        paths.append(path)
    assert paths[0] == paths[1] != paths[2]
    assert drawn > 100 and abs(taken) < 4 * math.sqrt(spread)
    fresh = [PolicyAgent(mdp, models("stochastic"), 4).seed for _ in range(2)]
    assert fresh[0] != fresh[1]


def test_what_the_mdp_tells_is_what_the_player_knows():
    mdp = uli.mdps.river_swim(3, 3)
    assert PolicyAgent(mdp, models(), 3).player.known.successors is None
    told = PolicyAgent(mdp.with_known_structure().restricted(), models(), 3).player.known
    assert (told.successors == (mdp.transitions > 0)).all()
    assert told.initial_support.tolist() == [True, False, False]
    assert (told.decision_points == mdp.restricted().decision_points).all()


@pytest.mark.parametrize("learner", [LEARNER, models(), models("stochastic")], ids=str)
def test_an_episode_that_is_given_up_is_missing(learner):
    env = lake()
    agent = PolicyAgent(env, learner, horizon=H, seed=1)
    with pytest.raises(UliError, match="under way"):
        agent.abandon("never begun")
    loop(env, agent, 2)
    with pytest.raises(UliError, match="under way"):
        agent.abandon("over")
    agent.act(0)
    with pytest.raises(ArgumentError, match=r"truncated: .* time limit"):
        agent.observe(0, 0.0, truncated=True)
    with pytest.raises(ArgumentError, match="reason"):
        agent.abandon("")
    agent.abandon("the time limit")
    assert agent.done and agent.episodes == 2 and agent.player.pending == ()
    with pytest.raises(UliError, match="under way"):
        agent.abandon("again")
    with pytest.raises(UliError, match="act"):
        agent.observe(0, 0.0)
    with pytest.raises(NoGuaranteeError):
        agent.certificate()
    loop(env, agent, 3)  # it goes on with another episode
    assert agent.episodes == 5 and agent.player.state()["queue"]["missing"] == [
        [3, "the time limit"]
    ]


def test_what_models_cannot_be_played_on_is_refused():
    env = lake()
    agent = PolicyAgent(env, models(), horizon=H)
    before = agent.player.state()
    with pytest.raises(ArgumentError, match="observation: the table never begins"):
        agent.act(2)
    with pytest.raises(ArgumentError, match="observation"):
        agent.act(None)
    assert agent.player.state() == before  # no decision was asked for
    with pytest.raises(UliError, match="no episode"):
        agent.current()
    agent.act(0)
    with pytest.raises(ArgumentError, match="observation: the table never leads"):
        agent.observe(3, 1.0, terminated=True)
    for wrong in (-1, 0.5, "x"):
        with pytest.raises(ArgumentError, match="seed"):
            PolicyAgent(env, models("stochastic"), horizon=H, seed=wrong)
    changing = uli.mdps.random_dense(2, 2, 3, seed=1)
    with pytest.raises(ArgumentError, match="pooled: must be False"):
        PolicyAgent(changing, models(pooled=True), horizon=3)


@pytest.mark.parametrize("learner", [uli.SuccessiveElimination(0.1), uli.UCB(0.1)], ids=str)
def test_a_reward_of_no_step_is_credited_to_no_arm(learner):
    agent = BanditAgent(types.SimpleNamespace(action_space=types.SimpleNamespace(n=2)), learner)
    for _ in range(3):
        with pytest.raises(UliError, match="act\\(\\) comes before observe"):
            agent.observe(0, 1.0)
        arm = agent.act()
        assert agent.act() == arm  # looking twice is one step
        with pytest.raises(ArgumentError, match="reward"):
            agent.observe(0, 7.0)
        agent.observe(0, 1.0)  # what was refused has not ended the step
    assert agent._stepper.player.arm_state.n.sum() == 3


@pytest.mark.parametrize(
    "learner", [uli.ModelElimination(), uli.UCBVI(0.1), uli.UBEV(0.1)], ids=str
)
def test_what_a_simulation_came_to_is_played(learner):
    env = lake()
    agent = TrainedAgent(env, learner, H, episodes=3000, seed=1)
    last = np.flatnonzero(agent.runs.last_play[0] == 3000)
    assert last.size == 1 and (agent.policy == agent.runs.policies[0, last[0]]).all()
    mean = np.mean(loop(env, agent, 2000))
    assert abs(mean - agent.mdp.value(agent.policy)) < 4 * 0.5 / math.sqrt(2000)
    mdp = uli.mdps.river_swim(2, 2)
    assert TrainedAgent(mdp, learner, 2, episodes=10, seed=1).policy.shape == (2, 2)


def test_the_policy_is_that_of_the_last_episode():
    lock = uli.mdps.combination_lock(length=2, n_actions=2).restricted()
    learner = uli.PolicyElimination(0.1, schedule="sharp")
    agent = TrainedAgent(lock, learner, lock.horizon, episodes=10**9, seed=1)
    first = agent.runs.policies[0, int(agent.runs.last_play[0].argmin())]
    assert lock.gap(agent.policy) == 0.0 < lock.gap(first)


def bandit_env(**more):
    from uli_fast.compat.gymnasium import BanditEnv

    return BanditEnv(uli.BernoulliBandit([2.5, -0.5], low=-1.0, high=3.0), **more)


def test_a_bandit_is_an_environment():
    from gymnasium.utils.env_checker import check_env

    env = bandit_env(horizon=5)
    check_env(env, skip_render_check=True)
    observation, info = env.reset(seed=1)
    steps = [env.step(a) for a in (0, 1, 0, 1, 0)]
    assert (observation, info) == (0, {})
    assert {step[1] for step in steps} <= {-1.0, 3.0}
    assert [step[3] for step in steps] == [False] * 4 + [True]
    assert [step[4]["gap"] for step in steps[:2]] == pytest.approx([0.0, 3.0])
    other = copy.deepcopy(env)
    assert [env.step(0)[1] for _ in range(300)] == [other.step(0)[1] for _ in range(300)]


def test_rewards_have_the_problem_s_law_and_the_seed_s_stream():
    env = bandit_env()
    draws = []
    for seed in (1, 1, 2):
        env.reset(seed=seed)
        draws.append([env.step(t % 2)[1] for t in range(2000)])
    assert draws[0] == draws[1] != draws[2]
    assert np.mean(draws[0][::2]) == pytest.approx(2.5, abs=0.25)
    assert np.mean(draws[0][1::2]) == pytest.approx(-0.5, abs=0.25)
    from uli_fast.compat.gymnasium import BanditEnv

    table = BanditEnv(uli.TableBandit([[0.0, 1.0, 0.5]] * 2))
    for _ in range(2):
        table.reset()
        assert [table.step(0)[1] for _ in range(3)] == [0.0, 1.0, 0.5]
    gaussian = BanditEnv(uli.GaussianBandit([5.0], sigma=0.1))
    gaussian.reset(seed=0)
    assert abs(gaussian.step(0)[1] - 5.0) < 1.0


@pytest.mark.parametrize("learner", [uli.SuccessiveElimination(0.1), uli.LilUCB(0.1), SMALL])
def test_bandit_agents_play_it(learner):
    env = bandit_env()
    agent = BanditAgent(env, learner, low=-1.0, high=3.0, seed=1)
    observation, _ = env.reset(seed=3)
    lost = []
    for _ in range(3000):
        action = agent.act(observation)
        observation, reward, terminated, truncated, info = env.step(action)
        agent.observe(observation, reward, terminated, truncated)
        lost.append(info["gap"])
    assert np.mean(lost[-500:]) < 1.5 / 5  # a fifth of what playing at random loses
    if learner == uli.SuccessiveElimination(0.1):
        assert agent.certificate().bound == 0.0 and max(lost[-500:]) == 0.0


def test_what_is_no_bandit_is_refused():
    from uli_fast.compat.gymnasium import BanditEnv

    with pytest.raises(ArgumentError, match="problem"):
        BanditEnv([0.5])
    with pytest.raises(gymnasium.error.ResetNeeded):
        bandit_env().step(0)
    env = bandit_env()
    env.reset(seed=0)
    with pytest.raises(ArgumentError, match="action"):
        env.step(2)
    with pytest.raises(ArgumentError, match="env"):
        BanditAgent(object(), uli.UCB())
    with pytest.raises(AttributeError):
        _ = sys.modules["uli_fast.compat.gymnasium"].nothing


def test_adapters_import_no_other_library():
    others = ["gymnasium", "mabwiser", "rlberry", "SMPyBandits", "pandas", "numba"]
    code = f"""
import sys, uli_fast
assert not [m for m in sys.modules if m.startswith("uli_fast.compat")]
import uli_fast.compat.smpybandits, uli_fast.compat.mabwiser
import uli_fast.compat.rlberry, uli_fast.compat.gymnasium
print([m for m in {others} if m in sys.modules])
sys.modules["gymnasium"] = None
try:
    uli_fast.compat.gymnasium.BanditEnv
except uli_fast.errors.MissingExtraError as missing:
    print(missing)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "[]"
    assert "pip install" in done.stdout.splitlines()[1]
