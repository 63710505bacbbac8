import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { settingNames } from '../config/setting-names.ts'
import { readSettings, type SettingSources } from '../config/settings.ts'
import { type Config, readConfig } from '../config.ts'
import { writePrivate } from '../development/private-file.ts'
import { readMasterKey } from '../keys/master-key.ts'
import { InvalidInput, orInvalidInput } from './invalid-input.ts'
import { createOperatorKey } from './operator-keys.ts'

/** What `initInstallation` has created. */
export interface Installation {
  readonly directory: string
  readonly config: Config
  readonly configFile: string
  readonly operatorKeyFile: string
  readonly keyId: string
  /** Undefined when a master key was set already. */
  readonly masterKeyFile: string | undefined
}

/**
 * Prepares a directory for production: the settings file, a master key unless one is set, the store
 * and an operator key. Throws `InvalidInput`, and changes nothing, for invalid settings and for a
 * directory that was prepared before.
 */
export async function initInstallation(
  directory: string,
  { flags = [], ...sources }: SettingSources,
): Promise<Installation> {
  const given = new Map(flags)
  if (sources.env.COUNTERSIGN_CONFIG !== undefined || given.has('config'))
    throw new InvalidInput('init makes the settings file itself: leave --config and COUNTERSIGN_CONFIG out')
  const place = resolve(directory)
  const [configFile, operatorKeyFile] = [join(place, 'countersign.json'), join(place, 'operator.key')]
  const { config, members, ownsMasterKey } = plan({ ...sources, flags: [...flags] }, join(place, 'data'))
  for (const file of [configFile, operatorKeyFile]) {
    if (existsSync(file))
      throw new InvalidInput(
        `${file} is there already, so nothing was changed. Choose another directory, or remove it first.`,
      )
  }
  const masterKey = ownsMasterKey
    ? readMasterKey({ text: undefined, file: undefined, dataDir: config.dataDir, mode: 'development' })
    : config.masterKey
  const { keyId, secret } = await createOperatorKey({ store: config.store, masterKey }, 'init')
  writePrivate(operatorKeyFile, `${secret}\n`)
  writePrivate(configFile, `${JSON.stringify(members, null, 2)}\n`)
  const masterKeyFile = ownsMasterKey ? join(config.dataDir, 'master.key') : undefined
  return { directory: place, config, configFile, operatorKeyFile, keyId, masterKeyFile }
}

interface Plan {
  readonly config: Config
  /** The members of the settings file. */
  readonly members: Readonly<Record<string, string>>
  readonly ownsMasterKey: boolean
}

/** Checks everything before anything is created. */
function plan(sources: SettingSources, dataDir: string): Plan {
  const given = readSettings(settingNames, [], { ...sources, env: {} }, [])
  const env: SettingSources['env'] = { COUNTERSIGN_DATA_DIR: dataDir, ...sources.env }
  const isSet = (name: string) => env[name] !== undefined
  const ownsMasterKey =
    !given.has('master_key_file') && !isSet('COUNTERSIGN_MASTER_KEY') && !isSet('COUNTERSIGN_MASTER_KEY_FILE')
  // Only to check the other settings; nothing is sealed with it.
  const standIn = ownsMasterKey ? { COUNTERSIGN_MASTER_KEY: randomBytes(32).toString('hex') } : {}
  const config = orInvalidInput(() => readConfig('production', { ...sources, env: { ...env, ...standIn } }))
  return {
    config,
    members: { ...Object.fromEntries(given), base_url: config.baseUrl, data_dir: config.dataDir },
    ownsMasterKey,
  }
}
