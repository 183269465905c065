import type { VersionMarks } from "../../contract/surfaces/version-facts.ts";
import { deprecationText } from "../../contract/version-states.ts";
import { Badge } from "./parts.tsx";

/** Badges of what people have said of a version, with their words. */
export const Marks = ({ of: { is_yanked, yanked_reason, deprecated } }: { of: VersionMarks }) => (
  <>
    {is_yanked && <Badge tone="warn">yanked</Badge>}
    {is_yanked && yanked_reason !== null && <p className="why">{yanked_reason}</p>}
    {deprecated !== undefined && <Badge tone="warn">deprecated</Badge>}
    {deprecated !== undefined && <p className="why">{deprecationText(deprecated)}</p>}
  </>
);
