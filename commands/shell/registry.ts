import type { CommandClass } from "clipanion";
import { ContextList, ContextShow, ContextUse, Logout } from "../context/contexts.ts";
import { Login } from "../context/login.ts";
import { DeployMarketplace } from "../deploying/deploy-marketplace.ts";
import { DeployProject } from "../deploying/deploy-project.ts";
import { Fleet } from "../deploying/fleet.ts";
import { FleetWait } from "../deploying/fleet-wait.ts";
import { PlanInit, PlanValidate } from "../deploying/plan.ts";
import { WatchCommand } from "../deploying/watch.ts";
import { WatchControl } from "../deploying/watch-control.ts";
import { History, ReportShow } from "../host/history.ts";
import { PinTarget, UnpinTarget } from "../host/pin.ts";
import { Releases } from "../host/releases.ts";
import { Rollback } from "../host/rollback.ts";
import { Status } from "../host/status.ts";
import { AuditList } from "../hub/audit.ts";
import { HubAdminKey } from "../hub/hub-admin-key.ts";
import { HubBackup, HubMove, HubRestore } from "../hub/hub-backup.ts";
import { HubCreateKek } from "../hub/hub-create-kek.ts";
import { HubRotateKek } from "../hub/hub-rotate-kek.ts";
import { HubServe } from "../hub/hub-serve.ts";
import { HubVerify } from "../hub/hub-verify.ts";
import { KeysCreate, KeysList, KeysRevoke } from "../hub/keys.ts";
import { ProjectsCreate, ProjectsList } from "../hub/projects.ts";
import { Doctor } from "../operating/doctor.ts";
import { SystemdInstall } from "../operating/systemd-install.ts";
import { PluginDev } from "../plugins/plugin-dev.ts";
import { PluginInit } from "../plugins/plugin-init.ts";
import { PluginPack } from "../plugins/plugin-pack.ts";
import { PluginPublish } from "../plugins/plugin-publish.ts";
import { PluginTest } from "../plugins/plugin-test.ts";
import { RuntimeServe } from "../plugins/runtime-serve.ts";
import { DeployPublish } from "../publishing/deploy-publish.ts";
import { Keygen } from "../publishing/keygen.ts";
import { MarketplacePublish, MarketplaceSearch, MarketplaceYank } from "../publishing/marketplace.ts";
import { MarketplaceSigningKey } from "../publishing/marketplace-signing-key.ts";
import { OpenArtifact } from "../publishing/open.ts";
import { Completion } from "./completion.ts";

/** Every command of `sealift`. Their modules are light: what they do is loaded when they run. */
export const COMMANDS: readonly CommandClass[] = [
  Completion,
  ContextList,
  ContextShow,
  ContextUse,
  DeployMarketplace,
  DeployProject,
  DeployPublish,
  Doctor,
  Fleet,
  FleetWait,
  History,
  AuditList,
  HubAdminKey,
  HubBackup,
  HubCreateKek,
  HubMove,
  HubRestore,
  HubRotateKek,
  HubServe,
  HubVerify,
  Keygen,
  KeysCreate,
  KeysList,
  KeysRevoke,
  Login,
  Logout,
  MarketplacePublish,
  MarketplaceSearch,
  MarketplaceSigningKey,
  MarketplaceYank,
  OpenArtifact,
  PinTarget,
  PlanInit,
  PlanValidate,
  PluginDev,
  PluginInit,
  PluginPack,
  PluginPublish,
  PluginTest,
  ProjectsCreate,
  ProjectsList,
  Releases,
  ReportShow,
  Rollback,
  RuntimeServe,
  Status,
  SystemdInstall,
  UnpinTarget,
  WatchCommand,
  WatchControl,
];
