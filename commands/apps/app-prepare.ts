import { Command, Option } from "clipanion";
import { asSealiftError } from "../../lib/contract/errors.ts";
import { appPrepare } from "../../lib/options/apps.ts";
import { withOptions } from "../shell/base.ts";

/**
 * Exit code of a condition that says "not to start". The unit makes 1 of it, which systemd takes for that, and 255 of
 * every other failure, as that of a program that is just being replaced (systemd.service(5)).
 */
const NOT_TO_START = 77;

export class AppPrepare extends withOptions(appPrepare) {
  static override paths = [["app", "prepare"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "Ask whether an application may start, and fill its data folder",
    details: `
      Units of \`sealift systemd install app\` run it before the application starts, as its user. It ends with 1, or 77
      with \`--condition\`, where \`applications.yaml\` does not grant the application or none is installed. It adds what the release ships to the
      host's data folder, never over a file that is there. Then it runs \`migrate\` of \`app.yaml\`, which a unit with
      \`--condition\` does by itself: our program then gets nothing of the application's environment.
    `,
    examples: [["As the unit does", "$0 app prepare web --condition --project-root /srv/sealift"]],
  });

  id = Option.String({ name: "ID" });

  override async run(): Promise<number> {
    const [{ resolve }, { layoutOf }, { migrateApplication, readyApplication }, { applicationId }] = await Promise.all([
      import("node:path"),
      import("../../lib/releases/layout.ts"),
      import("../../lib/apps/prepare.ts"),
      import("./application-id.ts"),
    ]);
    const { projectRoot, condition } = this.options;
    const id = applicationId(this.id);
    try {
      const installed = await readyApplication(layoutOf(resolve(projectRoot)), id);
      if (!condition) await migrateApplication(id, installed);
    } catch (thrown) {
      const error = asSealiftError(thrown);
      if (!condition || (error.code !== "app_not_allowed" && error.code !== "app_not_installed")) throw error;
      this.fail(error);
      return NOT_TO_START;
    }
    return this.done({ id });
  }
}
