import type { JSX } from 'preact'
import type { ApiRequest } from '../api/call.ts'
import { toCurl } from '../api/command.ts'
import { say } from '../say.ts'
import { copyText } from './copy.tsx'
import { Icon } from './icon.tsx'
import { Menu } from './menu.tsx'

interface AsCommandProps {
  /** The call that the page makes, or several of them. */
  readonly curl?: ApiRequest | readonly ApiRequest[] | undefined
  /** The same as a command of the command line, as `toCli` writes it. */
  readonly cli?: string | undefined
  readonly label?: string
}

/** What this page or act does, to be copied as a command. */
export function AsCommand({ curl, cli, label = say('Copy as') }: AsCommandProps): JSX.Element {
  const requests = curl === undefined ? [] : 'path' in curl ? [curl] : curl
  const text = requests.map((request) => toCurl(request, location.origin)).join('\n')
  const items = [
    ...(text === '' ? [] : [{ title: say('Copy as curl'), run: () => void copyText(text) }]),
    ...(cli === undefined ? [] : [{ title: say('Copy as CLI command'), run: () => void copyText(cli) }]),
  ]
  return (
    <Menu
      class="quiet as-command"
      label={
        <>
          <Icon name="terminal" />
          <span>{label}</span>
        </>
      }
      items={items}
    />
  )
}
