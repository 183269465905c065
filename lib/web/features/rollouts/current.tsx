import { lacksHost, percentOf } from "../../../contract/rollout-terms.ts";
import type { FailingHost, RolloutAction, RolloutRecord, RolloutState } from "../../../contract/rollouts/records.ts";
import { WAIT_TEXTS, WAIT_WORDS } from "../../../contract/surfaces/host-record.ts";
import { counted } from "../../../support/counted.ts";
import { Bar } from "../../page/bar.tsx";
import { Ask, Check, Field, Opened } from "../../page/forms.tsx";
import { Badge, Time, type Tone } from "../../page/parts.tsx";

export const TONES: Record<RolloutState, Tone> = {
  running: "busy",
  paused: "warn",
  halted: "bad",
  completed: "good",
  aborted: "calm",
  replaced: "calm",
};

const WAITS = {
  publication: "waits for its version to be published",
  window: "waits for its window",
  hosts: "waits for the hosts of the open waves",
  soak: "watches the open waves",
  approval: "waits for an approval",
} as const;

/** Actions that make sense in a state. */
const SENSIBLE: Partial<Record<RolloutState, readonly RolloutAction[]>> = {
  running: ["pause", "approve", "abort"],
  paused: ["resume", "abort"],
  halted: ["resume", "abort"],
};

interface CurrentRollout {
  rollout: RolloutRecord;
  /** Address of the target's rollouts. */
  here: string;
  /** Actions that the key may use. */
  allowed: readonly RolloutAction[];
}

/** Shows a live rollout: its waves, and the actions that the key may use. */
export function Current({ rollout, here, allowed }: CurrentRollout) {
  const { id, version, base_version: base, state, reason, waiting_for: waiting, until, open, waves, failing } = rollout;
  const { new_hosts: fresh, keeping, rules, halt, waits, awaited, awaited_hosts: allAwaited } = rollout;
  const actions = (SENSIBLE[state] ?? []).filter((action) => allowed.includes(action));
  const counts = waves.map(({ wave, done }) => ({ isLabelled: percentOf(wave) === undefined, done }));
  const lacks = state === "running" && waiting === "hosts" && lacksHost(counts, open);
  const isWanted = (action: RolloutAction) => action !== "approve" || waiting === "approval" || lacks;
  return (
    <section className="rollout" aria-labelledby={`rollout-${id}`}>
      <h2 id={`rollout-${id}`}>
        <span className="num">{version}</span> <Badge tone={TONES[state]}>{state}</Badge>
      </h2>
      <p>
        {base === null ? "No other version is open." : `All other hosts get ${base}.`}
        {waiting !== null && state === "running" && (
          <>
            {lacks ? " It waits for a host of the last open wave, or for your approval" : ` It ${WAITS[waiting]}`}
            {until !== null && " until "}
            <Time at={until} none="" />.
          </>
        )}
      </p>
      {reason !== null && <p className="notice warn">{reason}</p>}
      <ol className="waves">
        {waves.map(({ wave, hosts, done, failing: bad }, index) => (
          <li key={wave}>
            <span className="wave">
              {wave} <span className="faint">{index < open ? "open" : "closed"}</span>
            </span>
            <Bar
              label={`Wave ${wave}: ${done} of ${counted(hosts, "host")} ${hosts === 1 ? "runs" : "run"} it, ${bad} ${bad === 1 ? "fails" : "fail"}`}
              shares={[
                { label: "run it", count: done, tone: "good" },
                { label: "fail", count: bad, tone: "bad" },
                { label: "wait", count: Math.max(0, hosts - done - bad), tone: "calm" },
              ]}
            />
            <span className="num">
              {done} of {hosts}
              {bad > 0 && <span className="bad-text"> · {bad} failing</span>}
            </span>
          </li>
        ))}
      </ol>
      {keeping.map(({ version: kept, hosts }) => (
        <p key={kept} className="help">
          {hosts} {hosts === 1 ? "host keeps" : "hosts keep"} {kept}, and {hosts === 1 ? "is" : "are"} in no count.
        </p>
      ))}
      {fresh > 0 && (
        <p className="help">
          {fresh} {fresh === 1 ? "host is" : "hosts are"} in no count:{" "}
          {rules.bound_hosts ? "without a key of their own" : "new since the start"}, or without a name in polls.
        </p>
      )}
      {halt !== null && halt.hosts.length > 0 && (
        <details open>
          <summary>
            {counted(halt.failing, "host")} halted it at <Time at={halt.at} />
          </summary>
          <FailingHosts hosts={halt.hosts} />
        </details>
      )}
      {failing.length > 0 && (
        <details>
          <summary>{counted(failing.length, "failing host")}</summary>
          <FailingHosts hosts={failing} />
        </details>
      )}
      {waits.map(({ cause, hosts }) => (
        <p key={cause} className="help">
          {counted(hosts, "host")} {WAIT_TEXTS[cause]}.
        </p>
      ))}
      {awaited.length > 0 && (
        <details>
          <summary>{counted(allAwaited, "host")} that it waits for</summary>
          <ul className="plain-list">
            {awaited.map((host) => (
              <li key={host.host_id}>
                {host.host_id}{" "}
                <span className="why">
                  {host.waits === null
                    ? `runs ${host.running_version ?? "nothing"}, ${host.has_installed ? "went back from" : "has never installed"} ${version}`
                    : `${WAIT_WORDS[host.waits]}: ${host.error_message ?? ""}`}
                  , last heard of <Time at={host.last_heard_at} />
                </span>
              </li>
            ))}
            {allAwaited > awaited.length && <li>and {counted(allAwaited - awaited.length, "more host")}</li>}
          </ul>
        </details>
      )}
      <div className="actions">
        {actions.filter(isWanted).map((action) => (
          <Action key={action} at={`${here}/${encodeURIComponent(id)}`} {...{ action, base, version }} />
        ))}
      </div>
    </section>
  );
}

const FailingHosts = ({ hosts }: { hosts: readonly FailingHost[] }) => (
  <ul className="plain-list">
    {hosts.map(({ host_id: host, error_message: error }) => (
      <li key={host}>
        {host} <span className="why">{error}</span>
      </li>
    ))}
  </ul>
);

interface Acted {
  at: string;
  action: RolloutAction;
  base: string | null;
  version: string;
}

function Action({ at, action, base, version }: Acted) {
  if (action === "resume")
    return (
      <Ask at={at} verb="Resume" thing="the rollout">
        Go on with {version}? Failures so far no longer count.
      </Ask>
    );
  if (action === "approve")
    return (
      <Ask at={at} verb="Approve" thing="the next wave">
        Let the hosts of the next wave have {version}?
      </Ask>
    );
  return (
    <Opened title={action === "pause" ? "Pause" : "Abort"} to={`${at}/${action}`}>
      <Field label="Reason" name="reason" maxLength={1024} />
      {action === "abort" && (
        <Check name="rollback">
          {base === null ? "Hosts that took it go back" : `Hosts that took it go back to ${base}`}
        </Check>
      )}
      <button className={action === "abort" ? "bad" : undefined}>
        {action === "pause" ? "Pause the rollout" : "Abort the rollout"}
      </button>
    </Opened>
  );
}
