import { facts } from '../terminal/output.ts'
import { operatorCommand } from './operator-command.ts'

export const init = operatorCommand('init', {
  words: [['[directory]', 'the directory to prepare; default: this one']],
  examples: [
    [
      'countersign init /srv/countersign --base-url https://id.example',
      'then: countersign serve --config /srv/countersign/countersign.json',
    ],
    [
      'COUNTERSIGN_DATABASE_URL=postgres://… countersign init --base-url https://id.example',
      'use PostgreSQL, with the files in this directory',
    ],
  ],
  about: [
    'Creates countersign.json with the settings given as flags, data/master.key unless a master key is set, the store with its schema, and operator.key with a key that administers all sites. Only their owner can read the files. Rejects a directory that is already prepared, and changes nothing then.',
    'Backups do not contain the master key: store a copy of it elsewhere.',
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
          facts([
            [`  ${configFile}`, 'the settings'],
            ...(masterKeyFile === undefined
              ? []
              : [[`  ${masterKeyFile}`, 'the master key: store a copy elsewhere'] as const]),
            [`  ${operatorKeyFile}`, `an operator key, ${keyId}`],
          ]),
          '',
          'Next:',
          `  countersign serve --config ${configFile}`,
          `  export COUNTERSIGN_URL=${config.baseUrl} COUNTERSIGN_API_KEY_FILE=${operatorKeyFile}`,
          '  countersign sites create shop.example',
        ].join('\n'),
    )
    if (config.store.kind === 'postgres')
      at.note(
        'The settings file does not contain the database URL, because it is secret. Set COUNTERSIGN_DATABASE_URL for every start.',
      )
    return 0
  },
})
