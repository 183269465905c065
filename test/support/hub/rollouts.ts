import { until } from "../until.ts";
import { AT, type FeatureFill, HOSTILE } from "./filling.ts";
import { publication } from "./harness.ts";

/** Rules of a rollout that loses no time. */
export const QUICK = { soak_seconds: 0, max_failing: "0", min_done: "100%" };

/** Fills a rollout that halts, since its only host fails: the version is taken back. */
export const rolloutFill: FeatureFill = {
  byHand: { rollouts: { counted_until: AT } },
  async fill({ hub, done, rolled, report }) {
    const base = `/devkeys/projects/${rolled.id}/rollouts`;
    const { id } = await done("POST", base, {
      json: { version: "2.0.0", waves: ["100%"], on_halt: "rollback", soak_seconds: 0 },
    });
    await rolled.publish(publication("2.0.0"));
    await report("2.0.0", "failed");
    await until(async () => (await hub.call("GET", `${base}/${id}`)).body.state === "halted");
    await done("POST", `${base}/${id}/abort`, { json: { reason: HOSTILE } });
  },
  pages: () => ({ rollouts: "/plugins/tide-table/rollouts" }),
  rights: ({ project, plugin, secret }) => ({
    "/plugins/tide-table/rollouts": `/devkeys/projects/${plugin}/rollouts`,
    "/plugins/secret/rollouts": `/devkeys/projects/${secret}/rollouts`,
    [`/projects/${project}/rollouts`]: `/devkeys/projects/${project}/rollouts`,
  }),
  async lists({ hub, plugin }) {
    await hub.call("POST", `/devkeys/projects/${plugin}/rollouts`, { json: { version: "1.0.0" } });
    return { "rollout list": [`rollout list ${plugin}`, true] };
  },
};
