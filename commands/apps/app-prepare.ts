import { Command, Option } from "clipanion";
import { appPrepare } from "../../lib/options/apps.ts";
import { withOptions } from "../shell/base.ts";

export class AppPrepare extends withOptions(appPrepare) {
  static override paths = [["app", "prepare"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "Fill the data folder of an application, and migrate",
    details: `
      Units of \`sealift systemd install app\` run it before the application starts, as its user and with its
      environment. It adds what the release ships to the host's data folder, never over a file that is there, and runs
      \`migrate\` of \`app.yaml\`. When the migration fails, so does the start, and the deployment goes back.
    `,
    examples: [["As the unit does", "$0 app prepare web --project-root /srv/sealift"]],
  });

  id = Option.String({ name: "ID" });

  override async run(): Promise<number> {
    const [{ resolve }, { layoutOf }, { prepareApplication }, { applicationId }] = await Promise.all([
      import("node:path"),
      import("../../lib/releases/layout.ts"),
      import("../../lib/apps/prepare.ts"),
      import("./application-id.ts"),
    ]);
    await prepareApplication(layoutOf(resolve(this.options.projectRoot)), applicationId(this.id));
    return this.done({ id: this.id });
  }
}
