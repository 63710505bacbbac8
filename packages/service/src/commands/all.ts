import { acceptRollback } from './accept-rollback.ts'
import { auditLog } from './audit-log.ts'
import { backup } from './backup.ts'
import type { Command } from './command.ts'
import { dev } from './dev.ts'
import { init } from './init.ts'
import { migrate } from './migrate.ts'
import { newEpoch } from './new-epoch.ts'
import { operatorAudit } from './operator-audit.ts'
import { createOperatorKey, deleteOperatorKey, operatorKeys } from './operator-keys.ts'
import { resetTime } from './reset-time.ts'
import { restore } from './restore.ts'
import { rotateFeedKey, rotateIssuerKey } from './rotate-key.ts'
import { rotateMasterKey } from './rotate-master-key.ts'
import { serve } from './serve.ts'
import { showConfig } from './show-config.ts'

/** Every command by its name. A new one is added here and nowhere else. */
export const commands: Readonly<Record<string, Command>> = {
  dev,
  serve,
  init,
  config: showConfig,
  migrate,
  'create-operator-key': createOperatorKey,
  'operator-keys': operatorKeys,
  'delete-operator-key': deleteOperatorKey,
  'operator-audit': operatorAudit,
  'rotate-issuer-key': rotateIssuerKey,
  'rotate-feed-key': rotateFeedKey,
  'rotate-master-key': rotateMasterKey,
  'audit-log': auditLog,
  backup,
  restore,
  'new-epoch': newEpoch,
  'accept-rollback': acceptRollback,
  'reset-time': resetTime,
}
