import { operatorCommand } from './operator-command.ts'

export const init = operatorCommand('init', {
  words: [['[directory]', 'where to make it; default: this directory']],
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
    'Makes countersign.json with the settings that were given as flags, data/master.key unless a master key is set already, the store with its schema, and operator.key with a key that administers all sites. Only their owner can read the files. Rejects a directory that has been prepared before, and changes nothing then.',
    'The master key is in no backup: keep a copy of it elsewhere.',
  ],
  async run({ given, at, service, sources }) {
    const made = await service.initInstallation(given.words[0] ?? '.', sources)
    const { directory, config, configFile, operatorKeyFile, keyId, masterKeyFile } = made
    at.item(
      {
        directory,
        config_file: configFile,
        data_dir: config.dataDir,
        operator_key_file: operatorKeyFile,
        key_id: keyId,
      },
      () =>
        [
          `Prepared ${directory}:`,
          `  ${configFile}  the settings`,
          ...(masterKeyFile === undefined
            ? []
            : [`  ${masterKeyFile}  the master key: keep a copy elsewhere`]),
          `  ${operatorKeyFile}  an operator key, ${keyId}`,
          '',
          'Next:',
          `  countersign serve --config ${configFile}`,
          `  export COUNTERSIGN_URL=${config.baseUrl} COUNTERSIGN_API_KEY_FILE=${operatorKeyFile}`,
          '  countersign sites create shop.example',
        ].join('\n'),
    )
    if (config.store.kind === 'postgres')
      at.note(
        'The database is not in the settings file: its URL is secret. Set COUNTERSIGN_DATABASE_URL for every start.',
      )
    return 0
  },
})
