import { jsonText } from '../terminal/output.ts'
import { operatorCommand } from './operator-command.ts'

export const config = operatorCommand('config', {
  examples: [
    ['countersign config --config /etc/countersign.json', 'what a start with this file would run with'],
  ],
  about: ['Prints one JSON object. Rejects what `serve` would reject, with all mistakes at once.'],
  async run({ at, service, config: readConfig }) {
    const shown = service.shownConfig(readConfig())
    at.item(shown, () => jsonText(shown, 2))
    return 0
  },
})
