import type { CommandFeature } from "../shell/feature.ts";
import { HostKey } from "./host-key.ts";
import { HostOperator } from "./host-operator.ts";
import { hostCommands } from "./hosts.ts";
import { HostInvite } from "./invite.ts";
import { Join } from "./join.ts";

export const joining: CommandFeature = {
  name: "joining",
  commands: [HostInvite, ...hostCommands, HostKey, HostOperator, Join],
};
