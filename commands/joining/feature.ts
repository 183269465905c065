import type { CommandFeature } from "../shell/feature.ts";
import { hostCommands } from "./hosts.ts";
import { Join } from "./join.ts";

export const joining: CommandFeature = { name: "joining", commands: [...hostCommands, Join] };
