import type { Client } from '@countersign/sdk'
import type { Given } from '../command.ts'
import { facts } from '../terminal/output.ts'

export type PreviewAct = Parameters<Client['preview']>[0]['act']
type Preview = Awaited<ReturnType<Client['preview']>>

/** What an act would end, for people. */
export function previewText(found: Preview): string {
  return facts([
    ['user ids', countText(found.users)],
    ['credentials', countText(found.credentials)],
    ['bound credentials', found.bound_credentials],
    ['delegated credentials', found.delegated_credentials],
    ['tokens', countText(found.tokens)],
    ['offers', found.offers],
    ['sign-ins', found.sign_ins],
    ['verifiers ended', found.verifiers > 0 ? found.verifiers : undefined],
    ['webhooks called', found.webhooks.length],
    ['verifiers behind', found.lagging_verifiers],
    ['can be undone', found.irreversible ? 'no' : 'yes'],
    ['ends your access', found.ends_own_access ? 'yes' : 'no'],
    ['stays valid', found.not_ended.length > 0 ? `${found.not_ended.join(', ')} created with it` : undefined],
  ])
}

function countText({ count, complete }: Preview['users']): string {
  return complete ? String(count) : `${count} or more`
}

/**
 * What an act would end, to show before it is confirmed. Empty with `--yes`, and if the API key may
 * do it but not read what there is.
 */
export async function previewRemoval(
  given: Given,
  client: Pick<Client, 'preview'>,
  site_id: string,
  act: PreviewAct,
): Promise<{ readonly details: readonly string[]; readonly plan: { readonly preview?: Preview } }> {
  if (given.has('yes') && !given.has('dry-run')) return { details: [], plan: {} }
  try {
    const preview = await client.preview({ site_id, act })
    return { details: [previewText(preview)], plan: { preview } }
  } catch (fault) {
    if (fault instanceof Error && 'status' in fault && fault.status === 403) return { details: [], plan: {} }
    throw fault
  }
}
