import type { CommandFeature } from "../shell/feature.ts";
import { TrustChange } from "./change.ts";
import { TrustPublish } from "./publish.ts";
import { TrustShow } from "./show.ts";
import { TrustSign } from "./sign.ts";
import { TrustStart } from "./start.ts";

/** Trust roots: keys that name the signers that hosts accept. */
export const trust: CommandFeature = {
  name: "trust",
  commands: [TrustStart, TrustShow, TrustChange, TrustSign, TrustPublish],
};
