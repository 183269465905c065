import { Command, type CommandClass } from "clipanion";
import * as appAllow from "../apps/app-allow.ts";
import * as appEnv from "../apps/app-env.ts";
import * as appInit from "../apps/app-init.ts";
import * as appLogs from "../apps/app-logs.ts";
import * as appPrepare from "../apps/app-prepare.ts";
import * as appRestart from "../apps/app-restart.ts";
import * as appRun from "../apps/app-run.ts";
import * as appServe from "../apps/app-serve.ts";
import * as appStart from "../apps/app-start.ts";
import * as appStatus from "../apps/app-status.ts";
import * as appStop from "../apps/app-stop.ts";
import * as appTest from "../apps/app-test.ts";
import * as systemdInstallApp from "../apps/systemd-install-app.ts";
import { components } from "../components/feature.ts";
import * as contexts from "../context/contexts.ts";
import * as login from "../context/login.ts";
import * as trustFolder from "../context/trust-folder.ts";
import * as deployMarketplace from "../deploying/deploy-marketplace.ts";
import * as deployProject from "../deploying/deploy-project.ts";
import * as plan from "../deploying/plan.ts";
import * as watch from "../deploying/watch.ts";
import * as watchConsent from "../deploying/watch-consent.ts";
import * as watchControl from "../deploying/watch-control.ts";
import * as watchInit from "../deploying/watch-init.ts";
import * as fleet from "../fleets/fleet.ts";
import * as fleetAdoption from "../fleets/fleet-adoption.ts";
import * as fleetForget from "../fleets/fleet-forget.ts";
import * as fleetLabel from "../fleets/fleet-label.ts";
import * as fleetService from "../fleets/fleet-service.ts";
import * as fleetWait from "../fleets/fleet-wait.ts";
import * as audit from "../hub/audit.ts";
import * as grants from "../hub/grants.ts";
import * as hubAdminKey from "../hub/hub-admin-key.ts";
import * as hubBackup from "../hub/hub-backup.ts";
import * as hubKeks from "../hub/hub-keks.ts";
import * as hubRetain from "../hub/hub-retain.ts";
import * as hubServe from "../hub/hub-serve.ts";
import * as hubVerify from "../hub/hub-verify.ts";
import * as keys from "../hub/keys.ts";
import * as projects from "../hub/projects.ts";
import * as signers from "../hub/signers.ts";
import * as versionDiff from "../hub/version-diff.ts";
import * as versions from "../hub/versions.ts";
import { joining } from "../joining/feature.ts";
import { kits } from "../kits/feature.ts";
import * as doctor from "../operating/doctor.ts";
import * as health from "../operating/health.ts";
import * as mirrorServe from "../operating/mirror-serve.ts";
import * as selfCheck from "../operating/self-check.ts";
import * as systemdInstall from "../operating/systemd-install.ts";
import * as upgrade from "../operating/upgrade.ts";
import * as pluginAudit from "../plugins/plugin-audit.ts";
import * as pluginDev from "../plugins/plugin-dev.ts";
import * as pluginInit from "../plugins/plugin-init.ts";
import * as pluginPack from "../plugins/plugin-pack.ts";
import * as pluginPublish from "../plugins/plugin-publish.ts";
import * as pluginRights from "../plugins/plugin-rights.ts";
import * as pluginTest from "../plugins/plugin-test.ts";
import * as runtimeServe from "../plugins/runtime-serve.ts";
import { publishers } from "../publishers/feature.ts";
import * as deployPublish from "../publishing/deploy-publish.ts";
import * as marketplace from "../publishing/marketplace.ts";
import * as marketplaceSign from "../publishing/marketplace-sign.ts";
import * as marketplaceSigningKey from "../publishing/marketplace-signing-key.ts";
import * as open from "../publishing/open.ts";
import * as signerCreate from "../publishing/signer-create.ts";
import { quotas } from "../quotas/feature.ts";
import { rollouts } from "../rollouts/feature.ts";
import { settings } from "../settings/feature.ts";
import { staging } from "../staging/feature.ts";
import { statements } from "../statements/feature.ts";
import * as diff from "../targets/diff.ts";
import * as history from "../targets/history.ts";
import * as logs from "../targets/logs.ts";
import * as pin from "../targets/pin.ts";
import * as releases from "../targets/releases.ts";
import * as remove from "../targets/remove.ts";
import * as rollback from "../targets/rollback.ts";
import * as status from "../targets/status.ts";
import { trust } from "../trust/feature.ts";
import { webhooks } from "../webhooks/feature.ts";
import * as completion from "./completion.ts";
import * as docs from "./docs.ts";
import type { CommandFeature } from "./feature.ts";

/** Modules of commands: every command that one of them exports counts. */
const FILES: readonly object[] = [
  ...[contexts, login, trustFolder],
  ...[appAllow, appEnv, appInit, appLogs, appPrepare, appRestart, appRun, appServe],
  ...[appStart, appStatus, appStop, appTest],
  systemdInstallApp,
  ...[deployMarketplace, deployProject, plan, watch, watchConsent, watchControl, watchInit],
  ...[fleet, fleetAdoption, fleetForget, fleetLabel, fleetService, fleetWait],
  ...[diff, history, logs, pin, releases, remove, rollback, status],
  ...[audit, grants, hubAdminKey, hubBackup, hubKeks, hubRetain, hubServe, hubVerify],
  ...[keys, projects, signers, versionDiff, versions],
  ...[doctor, health, mirrorServe, selfCheck, systemdInstall, upgrade],
  ...[pluginAudit, pluginDev, pluginInit, pluginPack, pluginPublish, pluginRights, pluginTest, runtimeServe],
  ...[deployPublish, signerCreate, marketplace, marketplaceSign, marketplaceSigningKey, open],
  ...[completion, docs],
];

/** Features of the hub that have commands. */
const FEATURES: readonly CommandFeature[] = [
  ...[components, joining, kits, publishers, quotas, rollouts, settings, staging, statements, trust, webhooks],
];

const isCommand = (value: unknown): value is CommandClass =>
  typeof value === "function" && value.prototype instanceof Command;

/** Every command of `sealift`. Their modules are light: what they need is loaded when they run. */
export const COMMANDS: readonly CommandClass[] = [
  ...FILES.flatMap((file) => Object.values(file).filter(isCommand)),
  ...FEATURES.flatMap(({ commands }) => commands),
];
