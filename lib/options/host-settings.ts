import { path, several } from "./kinds.ts";
import { group, guarded } from "./option.ts";
import { token } from "./secrets.ts";

/** Options by which a host takes settings of its operator (docs/settings.md). */
export const hostSettings = group("Settings", {
  operators: guarded(
    several({
      name: "operator",
      metavar: "KEY",
      help: "Operator whose settings count: file or key; repeatable",
      orText: true,
    }),
  ),
  hostKey: token({ metavar: "KEY", help: "This host's key, to which settings are sealed", fileOnly: true }),
  hostCard: guarded(path({ metavar: "FILE", help: "Card of this host's key, for the hub" })),
});
