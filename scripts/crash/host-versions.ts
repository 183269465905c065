/** Versions of one project, which differ in everything that a deployment has to bring onto a disk. */
interface HostVersion {
  /** Returns `deployment/install.yaml`. */
  plan: (projectId: string, version: string) => string;
  files: Record<string, string>;
}

/** Content of the settings that each version brings to a host without any. */
export const SETTINGS = "PORT=80\n";
/** Content of the file of data that a version ships, as `shipped/<version>`. */
export const shippedText = (version: string): string => `data of ${version}`;

const plan =
  (plugins: readonly string[], apps: readonly string[] = []) =>
  (projectId: string, version: string): string => {
    const steps = [
      ...plugins.map((id) => `{id: install-${id}, action: install_plugin, plugin: ${id}}`),
      ...apps.map((id) => `{id: install-app-${id}, action: install_app, app: ${id}}`),
      "{id: env, action: write_env, plugin: shop, from: .env.template}",
    ];
    return `format_version: "1"\nproject_id: ${projectId}\nversion: ${version}\nsteps:\n${steps.map((step) => `  - ${step}\n`).join("")}`;
  };

export const pluginFiles = (id: string, version: string): Record<string, string> => ({
  [`plugins/${id}/plugin.yaml`]: `name: ${id}\nversion: ${version}\n`,
  [`plugins/${id}/main.js`]: `export default ${JSON.stringify(`${id} ${version} `.repeat(300))};\n`,
  [`plugins/${id}/deep/er/version`]: version,
});

const APP = "command: [sh, server.sh]\nmigrate: [sh, migrate.sh]\ndata: var/storage\n";

/** An application that notes in its data that the version has migrated. */
const appFiles = (id: string, version: string): Record<string, string> => ({
  [`apps/${id}/app.yaml`]: APP,
  [`apps/${id}/version`]: version,
  [`apps/${id}/server.sh`]: `# ${`${id} ${version} `.repeat(300)}\n`,
  [`apps/${id}/migrate.sh`]: "cp version var/storage/migrated-$(cat version)\n",
  [`apps/${id}/var/storage/shipped/${version}`]: shippedText(version),
  [`apps/${id}/.env.template`]: SETTINGS,
});

const shop = (version: string): Record<string, string> => ({
  ...pluginFiles("shop", version),
  [`plugins/shop/data/shipped/${version}`]: shippedText(version),
  "plugins/shop/.env.template": SETTINGS,
});

/** Versions in which one plugin stays, one goes and one comes; from 2.0.0 on, applications do. */
export const VERSIONS: Readonly<Record<string, HostVersion>> = {
  ...Object.fromEntries(
    ["1.0.0", "1.1.0", "1.2.0"].map((version, index) => {
      const other = ["old", "new", "newer"][index]!;
      return [version, { plan: plan(["shop", other]), files: { ...shop(version), ...pluginFiles(other, version) } }];
    }),
  ),
  ...Object.fromEntries(
    ["2.0.0", "2.1.0", "2.2.0"].map((version, index) => {
      const ids = ["web", ["old", "new", "newer"][index]!];
      const files = Object.assign(shop(version), ...ids.map((id) => appFiles(id, version))) as Record<string, string>;
      return [version, { plan: plan(["shop"], ids), files }];
    }),
  ),
};
