import type { CommandFeature } from "../shell/feature.ts";
import { hostCommands } from "./hosts.ts";
import { HostInvite } from "./invite.ts";
import { Join } from "./join.ts";

export const joining: CommandFeature = { name: "joining", commands: [HostInvite, ...hostCommands, Join] };
