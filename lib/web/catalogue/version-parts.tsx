import type { VersionMarks } from "../../contract/facts/version.ts";
import type { ManagedVersion } from "../../contract/surfaces/keys.ts";
import type { VersionRecord } from "../../contract/surfaces/marketplace.ts";
import { listVersions } from "../../contract/versions/routes.ts";
import { may } from "../../hub/base/principal.ts";
import { callTo } from "../page/api.ts";
import { Ask, Field, Opened } from "../page/forms.tsx";
import { Badge, Time, withNotes } from "../page/parts.tsx";
import { Marks, STATE_CAUSES } from "../page/version-marks.tsx";
import { useView } from "../page/view.ts";

/** Cells and forms shared by tables of versions. */

type Shown = Pick<VersionRecord | ManagedVersion, keyof VersionMarks | "version" | "is_yanked" | "state">;

/** Shows a version with its badges. @param of its record */
export const Version = ({ of, isLatest }: { of: Shown; isLatest: boolean }) => (
  <>
    <span className="num">{of.version}</span> {isLatest && <Badge tone="good">latest</Badge>} <Marks of={of} />
    {of.state !== undefined && <Badge tone={of.state.name === "held" ? "warn" : "busy"}>{of.state.name}</Badge>}
    {of.state !== undefined && (
      <p className="why">
        {STATE_CAUSES[of.state.cause]} <Time at={of.state.since} />
      </p>
    )}
  </>
);

/** Shows when a version was published. @param by name of the key */
export const Published = ({ at, by }: { at: string; by: string | undefined }) =>
  withNotes(<Time at={at} />, by !== undefined && `by the key ${by}`);

/** Shows the forms for a version that a key may use: to yank or restore it, and to open a held one to every host. */
export function Acts({ at, of: { version, is_yanked: isYanked, state } }: { at: string; of: Shown }) {
  const { principal } = useView();
  return (
    <>
      {may(principal!, "publish") && <Yank {...{ at, version, isYanked }} />}
      {may(principal!, "projects") && state?.name === "held" && (
        <Opened title="Release" to={`${at}/release`}>
          <input type="hidden" name="version" value={version} />
          <Field label="Reason" name="reason" maxLength={1024} />
          <button>Give {version} to every host</button>
        </Opened>
      )}
    </>
  );
}

function Yank({ at, version, isYanked }: { at: string; version: string; isYanked: boolean }) {
  if (isYanked)
    return (
      <Ask at={at} verb="Unyank" thing={version} sends={{ version }}>
        Take the yank of {version} back? Hosts may get it as the latest version again.
      </Ask>
    );
  return (
    <Opened title="Yank" to={`${at}/yank`}>
      <input type="hidden" name="version" value={version} />
      <Field label="Reason" name="reason" maxLength={1024} required />
      <button className="bad">Yank {version}</button>
    </Opened>
  );
}

/** Versions per page of a target. */
export const VERSIONS = "25";

/** Returns the call for one page of a target's versions, as their managers see them. */
export const managedVersions = (id: string, cursor: string) =>
  callTo(listVersions, { params: { id }, query: { limit: VERSIONS, cursor } });

/** Returns the names of the keys that have published or approved versions, by version. */
export const publishersOf = (versions: readonly ManagedVersion[]): ReadonlyMap<string, string> =>
  new Map(
    versions.flatMap(({ version, published_by: by = null, approved_by: approver = null }) =>
      by === null ? [] : [[version, approver === null ? by : `${by}, approved by ${approver}`] as const],
    ),
  );
