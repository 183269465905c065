import { ROLLOUT_DEFAULTS } from "../../../contract/rollout-terms.ts";
import type { RolloutRecord } from "../../../contract/rollouts/records.ts";
import { Check, Field, Opened, Select } from "../../page/forms.tsx";

const MINUTE_SECONDS = 60;

const ON_HALT = [
  ["stop", "no further host gets it"],
  ["rollback", "hosts that took it go back"],
] as const;

/** Shows the form that starts a rollout. @param current live one, which it may replace */
export const StartForm = ({ to, current }: { to: string; current: RolloutRecord | undefined }) => (
  <Opened className="panel" title="Start a rollout" to={to}>
    <Field label="Version, which may yet have to be published" name="version" required maxLength={128} />
    <Field
      label="Waves: shares that rise to 100%, and labels such as stage=canary"
      name="waves"
      defaultValue={ROLLOUT_DEFAULTS.waves.join(", ")}
      maxLength={4096}
      required
    />
    <Field
      label="Minutes for which each wave is watched"
      name="soak"
      type="number"
      min={0}
      max={43_200}
      defaultValue={ROLLOUT_DEFAULTS.soak_seconds / MINUTE_SECONDS}
      required
    />
    <Field
      label="More failing hosts halt it: a share, or a number"
      name="max_failing"
      defaultValue={ROLLOUT_DEFAULTS.max_failing}
      maxLength={32}
      required
    />
    <Select label="When it halts" name="on_halt" value={ROLLOUT_DEFAULTS.on_halt} of={ON_HALT} />
    <Field
      label="Hours in which hosts may switch; always, if empty"
      name="window"
      maxLength={200}
      placeholder="Mon-Thu 09:00-16:00 Europe/Berlin"
    />
    <Check name="approve">Each further wave waits for an approval</Check>
    <Check name="allow_empty_wave">A wave may have a label that no host has yet</Check>
    {current !== undefined && (
      <Check name="replace" value={current.id}>
        Take the place of the rollout of <span className="num">{current.version}</span>
      </Check>
    )}
    <button>Start the rollout</button>
  </Opened>
);
