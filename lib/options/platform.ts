import * as forms from "./forms.ts";
import { text } from "./kinds.ts";

/** Platform that native addons have to fit. */
export const platform = text({
  metavar: "OS-CPU",
  help: "Platform of the hosts, for native addons",
  defaultText: "this machine's",
  form: forms.platform,
});
