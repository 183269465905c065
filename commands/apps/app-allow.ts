import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { appAllow, limitsOf } from "../../lib/options/apps.ts";
import { withOptions } from "../shell/base.ts";

export class AppAllow extends withOptions(appAllow) {
  static override paths = [["app", "allow"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "Let `app serve` run an application, with its addresses",
    details: `
      Writes a standing grant into \`applications.yaml\` of the project root; comments of the file stay. A version with an
      application that has no grant is held. Without a user of its own an application runs as the user of
      \`sealift app serve\`, which \`--same-user\` permits. With both, root runs it as \`--user\`. Under systemd,
      \`sealift systemd install app\` writes the grant. \`--alone\` has the kernel tell its processes by their user where
      there are no control groups. Addresses are those of names in \`listen\` and \`ports\` of \`app.yaml\`, and replace
      those of an earlier grant: give one for each name that the installed version has.
    `,
    examples: [
      ["As root, with a user of its own", "$0 app allow web --listen http=127.0.0.1:3000 --user web"],
      ["On a laptop", "$0 app allow web --port http=3000 --same-user"],
    ],
  });

  id = Option.String({ name: "ID" });

  override async run(): Promise<number> {
    const [{ join, resolve }, { APPLICATIONS_FILE }, { writeGrant }, { applicationId }, stated, { layoutOf }] =
      await Promise.all([
        import("node:path"),
        import("../../lib/contract/files/application-names.ts"),
        import("../../lib/releases/write-grant.ts"),
        import("./application-id.ts"),
        import("../../lib/releases/stated-grant.ts"),
        import("../../lib/releases/layout.ts"),
      ]);
    const { projectRoot, user, sameUser, alone } = this.options;
    const listen = [...this.options.listen, ...this.options.port];
    if (sameUser && user === undefined && process.getuid?.() === 0)
      throw usageError("usage", `As root, ${this.id} needs a user of its own: --same-user would run it as root.`, {
        hint: "Give --user NAME, or run this and `sealift app serve` as an ordinary user.",
      });
    if (alone && user === undefined)
      throw usageError("usage", `--alone says that a user runs nothing but ${this.id}: give --user NAME, too.`);
    const id = applicationId(this.id);
    const file = join(resolve(projectRoot), APPLICATIONS_FILE);
    const grant = {
      ...(listen.length > 0 && { listen: Object.fromEntries(listen) }),
      ...(user !== undefined && { user }),
      ...(sameUser && { same_user: true }),
      ...(alone && { alone: true }),
      limits: limitsOf(this.options),
    };
    if (user !== undefined) {
      await stated.requireUser(user);
      await this.#requireEntry(resolve(projectRoot), user);
    }
    const unknown = await stated.compareGrant(layoutOf(resolve(projectRoot)), id, grant);
    if (unknown.length > 0) this.note(`note: the version of ${id} that is installed has no ${unknown.join(", ")}.`);
    await writeGrant(file, "serve", id, grant);
    if (!this.json) this.print.line(file);
    this.note(`Next: sealift app serve --project-root ${resolve(projectRoot)}, or SIGHUP for the one that runs.`);
    return this.done({ id, path: file });
  }

  /** Requires that the user can enter the project root: its application could not start there. @throws UsageError */
  async #requireEntry(root: string, user: string): Promise<void> {
    const { closedFolder } = await import("../../lib/support/entered-folders.ts");
    const closed = await closedFolder(root, user);
    if (closed === undefined) return;
    throw usageError("usage", `The user ${user} cannot enter ${closed}, in which the project root ${root} is.`, {
      hint: `Open it for others (chmod o+x ${closed}), or put the project root elsewhere, such as into /srv.`,
    });
  }
}
