import type { ConsoleDoors } from '@countersign/core/contract'
import { signal } from '@preact/signals'
import { send } from './call.ts'

/** The ways to sign in at this address. Undefined until they are known. */
export const doors = signal<ConsoleDoors | undefined>(undefined)

export function loadDoors(): void {
  if (doors.value !== undefined) return
  send('/console/doors').then(
    async (answer) => {
      doors.value = (await answer.json()) as ConsoleDoors
    },
    () => undefined,
  )
}

/** A command that begins with `countersign`, as it is typed where this service was started. */
export function toTypedCommand(text: string): string {
  const { command_line = 'countersign' } = doors.value ?? {}
  return text.replace(/^countersign(?= )/, () => command_line)
}
