import { statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { marketplaceHost } from "../../../support/host/marketplace-host.ts";

t.test("a plugin of the marketplace can be read by the user who runs it", async (t) => {
  const host = await marketplaceHost(t);
  for (const folder of [host.installed, join(host.installed, "src")])
    t.equal((statSync(folder).mode & 0o777).toString(8), "755");
});
