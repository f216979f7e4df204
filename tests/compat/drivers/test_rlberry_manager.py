"""rlberry's own ExperimentManager runs our agents beside its own (`make compat-test`)."""

import numpy as np
import pytest

manager = pytest.importorskip("rlberry.manager", reason="rlberry is not installed")
pytest.importorskip("rlberry_scool", reason="rlberry-scool is not installed")

from rlberry_scool.agents import UCBVIAgent as TheirUCBVI  # noqa: E402
from rlberry_scool.envs import Chain, GridWorld  # noqa: E402

import uli_fast as uli  # noqa: E402
from uli_fast.compat import rlberry as ours  # noqa: E402
from uli_fast.compat._tabular import tables  # noqa: E402
from uli_fast.compat.gymnasium import BanditEnv  # noqa: E402

CHAIN, H = (Chain, {"L": 3, "fail_prob": 0.1}), 3
FAST = {"horizon": H, "delta": 0.1, "schedule": (1e-4, 1e-4)}


def managed(kind, env, budget, tmp_path, **init):
    return manager.ExperimentManager(
        kind,
        env,
        fit_budget=budget,
        n_fit=2,
        init_kwargs=init,
        eval_kwargs={"eval_horizon": init.get("horizon", 50)},
        seed=42,
        output_dir=str(tmp_path),
    )


@pytest.mark.parametrize(
    ("kind", "init"),
    [
        (TheirUCBVI, {"horizon": H}),
        (ours.PolicyEliminationAgent, FAST),
        (ours.PolicyEliminationAgent, FAST | {"live": True}),
        (ours.ModelEliminationAgent, {"horizon": H, "delta": 0.1}),
        (ours.ModelEliminationAgent, {"horizon": H, "delta": 0.1, "live": True}),
        (ours.UCBVIAgent, {"horizon": H, "delta": 0.1}),
        (ours.UBEVAgent, {"horizon": H, "delta": 0.1}),
    ],
)
def test_the_manager_fits_and_evaluates_tabular_agents(kind, init, tmp_path):
    run = managed(kind, CHAIN, 300, tmp_path, **init)
    run.fit()
    values = manager.evaluate_agents([run], n_simulations=4, plot=False, show=False)
    assert np.isfinite(np.asarray(values, dtype=float)).all()
    again = manager.ExperimentManager.load(run.save())
    agents = again.get_agent_instances()
    assert len(agents) == 2
    if kind is not TheirUCBVI:
        assert [agent.budget for agent in agents] == [300, 300]
        assert agents[0].seed != agents[1].seed
        assert run.get_writer_data()[0] is not None
    run.fit(100)
    if kind is not TheirUCBVI:
        assert [agent.budget for agent in run.get_agent_instances()] == [400, 400]


def test_the_manager_fits_bandit_agents(tmp_path):
    env = (BanditEnv, {"problem": uli.BernoulliBandit([0.9, 0.2])})
    for kind, init in (
        (ours.SuccessiveEliminationAgent, {"delta": 0.1}),
        (ours.LilUCBAgent, {}),
        (ours.Exp3PAgent, {"horizon": 1000}),
    ):
        run = managed(kind, env, 500, tmp_path / kind.name, **init)
        run.fit()
        agents = run.get_agent_instances()
        assert [agent.budget for agent in agents] == [500, 500]
        assert agents[0]._total != agents[1]._total  # different seeds, different rewards
        values = run.eval_agents(4)
        assert len(values) == 4 and np.isfinite(values).all()


def test_a_grid_with_an_end_is_read_as_it_is_played():
    end = {"terminal_states": ((1, 1),), "reward_at": {(1, 1): 1.0}}
    grid = GridWorld(nrows=2, ncols=2, start_coord=(0, 0), walls=(), **end)
    mdp = tables(grid, 4)
    assert mdp.n_states == 5  # one more, after the end
    total, n = 0.0, 2000
    for _ in range(n):
        s, _ = grid.reset()
        for h in range(4):
            s, r, terminated, truncated, _ = grid.step(int(mdp.optimal_policy[h, s]))
            total += r
            if terminated or truncated:
                break
    assert total / n == pytest.approx(mdp.optimal_value, abs=0.1)


def test_our_agents_have_what_the_manager_s_own_have():
    from rlberry.agents import AgentWithSimplePolicy

    public = {name for name in dir(AgentWithSimplePolicy) if not name.startswith("_")}
    agent = ours.UCBVIAgent(Chain(3), horizon=H)
    optional = {"sample_parameters", "get_params", "thread_shared_data", "unique_id"}
    assert public - set(dir(agent)) <= optional
