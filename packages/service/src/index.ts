/** The entry point for programs that run the service. */
export { checkInstallation, type InstallationFinding } from './commands/check-installation.ts'
export { type Command, type ExitCode, type Given, Misuse } from './commands/command.ts'
export { runCommand, type Terminal } from './commands/run-command.ts'
export { type Config, type Mode, readConfig, shownConfig } from './config.ts'
export { createLogger } from './logger.ts'
export { type OpenServiceOptions, openService, type Service } from './service.ts'
export type { SettingSources } from './settings.ts'
