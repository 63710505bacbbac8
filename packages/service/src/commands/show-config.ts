import { shownConfig } from '../config.ts'
import type { Command } from './command.ts'

export const showConfig: Command = {
  summary: 'print the effective settings, with secrets hidden',
  words: [],
  examples: [
    ['countersign config --config /etc/countersign.json', 'what a start with this file would run with'],
  ],
  about: ['Prints one JSON object. Refuses what `serve` would refuse, with all mistakes at once.'],
  async run({ config, say }) {
    const shown = shownConfig(config())
    say(JSON.stringify(shown, null, 2), shown)
    return 0
  },
}
