import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createApiKey } from '../actions/api-keys.ts'
import { type Config, readConfig, settingNames } from '../config.ts'
import { writePrivate } from '../development/private-file.ts'
import { readMasterKey } from '../keys/master-key.ts'
import { readSettings, type SettingSources } from '../settings.ts'
import { type Command, Misuse, orMisuse } from './command.ts'
import { withStore } from './with-store.ts'

export const init: Command = {
  summary: 'prepare a directory for production: settings, master key, store, operator key',
  words: ['[directory]'],
  examples: [
    [
      'countersign init /srv/countersign --base-url https://id.example',
      'then: countersign serve --config /srv/countersign/countersign.json',
    ],
    [
      'COUNTERSIGN_DATABASE_URL=postgres://… countersign init --base-url https://id.example',
      'on PostgreSQL, with the rest in this directory',
    ],
  ],
  about: [
    'Makes countersign.json with the settings that were given as flags, data/master.key unless a master key is set already, the store with its schema, and operator.key with a key that administers all sites. All files are for their owner only. Refuses a directory that has been prepared before, and changes nothing then.',
    'The master key is in no backup: keep a copy of it elsewhere.',
  ],
  async run({ words: [directory = '.'], sources, say, note }) {
    if (
      sources.env.COUNTERSIGN_CONFIG !== undefined ||
      sources.argv.some((flag) => /^--config(?:=|$)/.test(flag))
    )
      throw new Misuse('init makes the settings file itself: leave --config and COUNTERSIGN_CONFIG out')
    const place = resolve(directory)
    const [configFile, keyFile] = [join(place, 'countersign.json'), join(place, 'operator.key')]
    const { config, members, ownsMasterKey } = planOf(sources, join(place, 'data'))
    for (const file of [configFile, keyFile]) {
      if (existsSync(file))
        throw new Misuse(
          `${file} is there already, so nothing was changed. Choose another directory, or remove it first.`,
        )
    }
    const masterKey = ownsMasterKey
      ? readMasterKey({ text: undefined, file: undefined, dataDir: config.dataDir, mode: 'development' })
      : config.masterKey
    const order = { siteId: null, permissions: [], label: 'init', expiresInSeconds: undefined }
    const { key, secret } = await withStore(config.store, masterKey, (at) =>
      createApiKey(at, order, at.act()),
    )
    writePrivate(keyFile, `${secret}\n`)
    writePrivate(configFile, `${JSON.stringify(members, null, 2)}\n`)
    say(
      [
        `Prepared ${place}:`,
        `  ${configFile}  the settings`,
        ...(ownsMasterKey
          ? [`  ${join(config.dataDir, 'master.key')}  the master key: keep a copy elsewhere`]
          : []),
        `  ${keyFile}  an operator key, ${key.keyId}`,
        '',
        'Next:',
        `  countersign serve --config ${configFile}`,
        `  export COUNTERSIGN_URL=${config.baseUrl} COUNTERSIGN_API_KEY_FILE=${keyFile}`,
        '  countersign sites create shop.example',
      ].join('\n'),
      {
        directory: place,
        config_file: configFile,
        data_dir: config.dataDir,
        operator_key_file: keyFile,
        key_id: key.keyId,
      },
    )
    if (config.store.kind === 'postgres')
      note(
        'The database is not in the settings file: its URL is secret. Set COUNTERSIGN_DATABASE_URL for every start.',
      )
    return 0
  },
}

interface Plan {
  readonly config: Config
  /** Of the settings file. */
  readonly members: Readonly<Record<string, string>>
  readonly ownsMasterKey: boolean
}

/** Everything is looked at before anything is made. */
function planOf(sources: SettingSources, dataDir: string): Plan {
  const given = readSettings(settingNames, [], { argv: sources.argv, env: {} }, [])
  const env: SettingSources['env'] = { COUNTERSIGN_DATA_DIR: dataDir, ...sources.env }
  const isSet = (name: string) => env[name] !== undefined
  const ownsMasterKey =
    !given.has('master_key_file') && !isSet('COUNTERSIGN_MASTER_KEY') && !isSet('COUNTERSIGN_MASTER_KEY_FILE')
  // Only to see whether the other settings will do; nothing is sealed with it.
  const standIn = ownsMasterKey ? { COUNTERSIGN_MASTER_KEY: randomBytes(32).toString('hex') } : {}
  const config = orMisuse(() => readConfig('production', { ...sources, env: { ...env, ...standIn } }))
  return {
    config,
    members: { ...Object.fromEntries(given), base_url: config.baseUrl, data_dir: config.dataDir },
    ownsMasterKey,
  }
}
