import type { Verb } from '../command.ts'
export const doctor: Verb = {
  examples: [],
  async run() {
    return 0
  },
}
