import type { ManagedVersion } from "../../contract/surfaces/keys.ts";
import type { VersionRecord } from "../../contract/surfaces/marketplace.ts";
import { Ask, Field, Opened } from "../page/forms.tsx";
import { Badge, Time } from "../page/parts.tsx";
import { Marks, STATE_CAUSES } from "../page/version-marks.tsx";

/** The cells that tables of versions share, and the forms in them. */

/** A version with its badges. @param of its record */
export const Version = ({ of, isLatest }: { of: VersionRecord | ManagedVersion; isLatest: boolean }) => (
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

/** When a version was published. @param by the name of the key */
export const Published = ({ at, by }: { at: string; by: string | undefined }) => (
  <>
    <Time at={at} />
    {by !== undefined && <p className="slug">by the key {by}</p>}
  </>
);

/** The form that opens a held version to every host. */
export const Release = ({ at, version }: { at: string; version: string }) => (
  <Opened title="Release" to={`${at}/release`}>
    <input type="hidden" name="version" value={version} />
    <Field label="Reason" name="reason" maxLength={1024} />
    <button>Give {version} to every host</button>
  </Opened>
);

/** Forms that yank a version, and take that back. */
export function Yank({ at, version, isYanked }: { at: string; version: string; isYanked: boolean }) {
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
