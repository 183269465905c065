import type { CommandClass } from "clipanion";
import { ContextList, ContextShow, ContextUse, Logout } from "../context/contexts.ts";
import { Login } from "../context/login.ts";
import { TrustFolder } from "../context/trust-folder.ts";
import { DeployMarketplace } from "../deploying/deploy-marketplace.ts";
import { DeployProject } from "../deploying/deploy-project.ts";
import { Fleet } from "../deploying/fleet.ts";
import { FleetForget } from "../deploying/fleet-forget.ts";
import { FleetLabel } from "../deploying/fleet-label.ts";
import { FleetWait } from "../deploying/fleet-wait.ts";
import { PlanInit, PlanValidate } from "../deploying/plan.ts";
import { WatchCommand } from "../deploying/watch.ts";
import { WatchConsent } from "../deploying/watch-consent.ts";
import { WatchControl } from "../deploying/watch-control.ts";
import { WatchInit } from "../deploying/watch-init.ts";
import { Diff } from "../host/diff.ts";
import { History, ReportShow } from "../host/history.ts";
import { Logs } from "../host/logs.ts";
import { PinTarget, UnpinTarget } from "../host/pin.ts";
import { Releases } from "../host/releases.ts";
import { Remove } from "../host/remove.ts";
import { Rollback } from "../host/rollback.ts";
import { Status } from "../host/status.ts";
import { AuditList } from "../hub/audit.ts";
import { GrantAdd, GrantList, GrantRemove } from "../hub/grants.ts";
import { HubAdminKey } from "../hub/hub-admin-key.ts";
import { HubBackup, HubMove, HubRestore } from "../hub/hub-backup.ts";
import { HubCreateKek } from "../hub/hub-create-kek.ts";
import { HubQuotaList, HubQuotaRemove, HubQuotaSet } from "../hub/hub-quota.ts";
import { HubRetain } from "../hub/hub-retain.ts";
import { HubRotateKek } from "../hub/hub-rotate-kek.ts";
import { HubServe } from "../hub/hub-serve.ts";
import { HubVerify } from "../hub/hub-verify.ts";
import { KeyRotate, KeysCreate, KeysList, KeysRevoke } from "../hub/keys.ts";
import { ProjectsCreate, ProjectsList, ProjectsRename, ProjectsTransfer } from "../hub/projects.ts";
import { RolloutWait } from "../hub/rollout-wait.ts";
import { RolloutAbort, RolloutChange, RolloutList, RolloutShow, RolloutStart } from "../hub/rollouts.ts";
import { SignerAdd, SignerList, SignerRetire, SignerRevoke, SignerRotate } from "../hub/signers.ts";
import { VersionDiff } from "../hub/version-diff.ts";
import { VersionDelete, VersionList, VersionUnyank, VersionYank } from "../hub/versions.ts";
import {
  WebhookAdd,
  WebhookDeliveries,
  WebhookEnable,
  WebhookList,
  WebhookRedeliver,
  WebhookRemove,
  WebhookRotate,
  WebhookTest,
} from "../hub/webhooks.ts";
import { Doctor } from "../operating/doctor.ts";
import { Health } from "../operating/health.ts";
import { MirrorServe } from "../operating/mirror-serve.ts";
import { SelfCheck } from "../operating/self-check.ts";
import { SystemdInstall } from "../operating/systemd-install.ts";
import { Upgrade, UpgradeBack } from "../operating/upgrade.ts";
import { PluginAudit } from "../plugins/plugin-audit.ts";
import { PluginDev } from "../plugins/plugin-dev.ts";
import { PluginInit } from "../plugins/plugin-init.ts";
import { PluginPack } from "../plugins/plugin-pack.ts";
import { PluginPublish } from "../plugins/plugin-publish.ts";
import { PluginRights } from "../plugins/plugin-rights.ts";
import { PluginTest } from "../plugins/plugin-test.ts";
import { RuntimeServe } from "../plugins/runtime-serve.ts";
import { DeployPublish } from "../publishing/deploy-publish.ts";
import { Keygen } from "../publishing/keygen.ts";
import { MarketplacePublish, MarketplaceSearch, MarketplaceYank } from "../publishing/marketplace.ts";
import { MarketplaceSigningKey } from "../publishing/marketplace-signing-key.ts";
import { OpenArtifact } from "../publishing/open.ts";
import { Completion } from "./completion.ts";
import { Docs } from "./docs.ts";

/** Every command of `sealift`. Their modules are light: what they do is loaded when they run. */
export const COMMANDS: readonly CommandClass[] = [
  Completion,
  ContextList,
  ContextShow,
  ContextUse,
  DeployMarketplace,
  DeployProject,
  DeployPublish,
  Diff,
  Docs,
  Doctor,
  Fleet,
  FleetForget,
  FleetLabel,
  FleetWait,
  Health,
  History,
  AuditList,
  SignerAdd,
  SignerList,
  SignerRetire,
  SignerRevoke,
  SignerRotate,
  GrantAdd,
  GrantList,
  GrantRemove,
  HubAdminKey,
  HubBackup,
  HubCreateKek,
  HubMove,
  HubRestore,
  HubQuotaList,
  HubQuotaRemove,
  HubQuotaSet,
  HubRetain,
  HubRotateKek,
  HubServe,
  HubVerify,
  Keygen,
  KeysCreate,
  KeyRotate,
  KeysList,
  KeysRevoke,
  Login,
  Logout,
  Logs,
  MarketplacePublish,
  MarketplaceSearch,
  MarketplaceSigningKey,
  MarketplaceYank,
  MirrorServe,
  OpenArtifact,
  PinTarget,
  PlanInit,
  PlanValidate,
  PluginAudit,
  PluginDev,
  PluginInit,
  PluginPack,
  PluginPublish,
  PluginRights,
  PluginTest,
  ProjectsCreate,
  ProjectsList,
  ProjectsRename,
  ProjectsTransfer,
  Releases,
  Remove,
  ReportShow,
  Rollback,
  RolloutAbort,
  RolloutChange,
  RolloutList,
  RolloutShow,
  RolloutStart,
  RolloutWait,
  RuntimeServe,
  Status,
  SelfCheck,
  SystemdInstall,
  Upgrade,
  UpgradeBack,
  TrustFolder,
  UnpinTarget,
  VersionDelete,
  VersionDiff,
  VersionList,
  VersionUnyank,
  VersionYank,
  WatchCommand,
  WatchConsent,
  WatchControl,
  WatchInit,
  WebhookAdd,
  WebhookDeliveries,
  WebhookEnable,
  WebhookList,
  WebhookRedeliver,
  WebhookRemove,
  WebhookRotate,
  WebhookTest,
];
