/** The entry point for programs that run or operate the service. */

export {
  readArchiveDirConfig,
  readHeadFileConfig,
  readLogKeptConfig,
  readMasterKeyConfig,
  readStoreConfig,
} from './config/partial-config.ts'
export type { SettingSources } from './config/settings.ts'
export { shownConfig } from './config/shown-config.ts'
export { type Config, type Mode, readConfig } from './config.ts'
export type { DevFile } from './development/demo.ts'
export type { DemoVerifier } from './development/demo-verifiers.ts'
export { readNewMasterKey } from './keys/master-key.ts'
export { createLogger } from './logger.ts'
export { acceptRollback, type RollbackResult } from './operations/accept-rollback.ts'
export { checkInstallation, type InstallationFinding } from './operations/check-installation.ts'
export { cutLogNow } from './operations/cut-log.ts'
export { type Installation, initInstallation } from './operations/init.ts'
export { InvalidInput } from './operations/invalid-input.ts'
export { migrate } from './operations/migrate.ts'
export { readOperatorAudit } from './operations/operator-audit.ts'
export { createOperatorKey, deleteOperatorKey, listOperatorKeys } from './operations/operator-keys.ts'
export { describeDifference, readRecordedTime, requirePresent, resetTime } from './operations/reset-time.ts'
export { type RestoreOptions, type RestoreResult, restore } from './operations/restore.ts'
export { type RotatedKey, rotateFeedKey, rotateIssuerKey } from './operations/rotate-key.ts'
export { type RotatedMasterKey, rotateMasterKey } from './operations/rotate-master-key.ts'
export { serve } from './operations/serve.ts'
export {
  type Development,
  type DevelopmentOptions,
  startDevelopment,
} from './operations/start-development.ts'
export { verifyAuditArchive } from './operations/verify-audit-archive.ts'
export type { OnProgress, StoreSettings } from './operations/with-store.ts'
export { type OpenServiceOptions, openService, type Service } from './service.ts'
export { type FailedAudit, type LogAudit, LogCorrupted } from './store/log-corrupted.ts'
export type { LostChanges } from './store/lost-changes.ts'
export { auditStore, backupStore, beginNewEpoch } from './store/maintenance.ts'
export type { ApiKey } from './store/operations/api-keys.ts'
export type { AuditRow } from './store/operations/audit.ts'
