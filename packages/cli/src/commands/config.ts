import { jsonText } from '../terminal/output.ts'
import { operatorCommand } from './operator-command.ts'

export const config = operatorCommand('config', {
  examples: [
    [
      'countersign config --config /etc/countersign.json',
      'print the settings that serve would use with this file',
    ],
  ],
  about: [
    'Prints one JSON object, with the names and units of a settings file. Secrets are `(hidden)`: remove these members before you use it as such a file. Rejects settings that `serve` would reject, and reports all mistakes together.',
  ],
  async run({ at, service, config: readConfig }) {
    const shown = service.shownConfig(readConfig())
    at.item(shown, () => jsonText(shown, 2))
    return 0
  },
})
