import type { CredentialDetail } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { mayRevoke } from '../api/session.ts'
import { shorten } from '../components/id.tsx'
import { StateMark, type Tone } from '../components/state.tsx'
import { startRevoke } from '../revoke/state.ts'
import { sitePath } from '../router.ts'
import { say, sayCount, sayList } from '../say.ts'
import { formatMoment } from '../time.ts'

/** A credential, and what was delegated from it. */
interface TreeNode {
  readonly id: string
  readonly status: CredentialDetail['parents'][number]['status']
  readonly scope: readonly string[] | undefined
  readonly isBound: boolean
  readonly expiresAt: string | undefined
  readonly children: readonly TreeNode[]
}

interface Tree {
  readonly root: TreeNode
  readonly isComplete: boolean
}

/** The tree of a root. If the root is not known, the chain above the credential is drawn alone. */
export function toTree(root: CredentialDetail, own: CredentialDetail): Tree {
  const toChildren = (detail: CredentialDetail, id: string): readonly TreeNode[] =>
    detail.descendants
      .filter(({ parent_id }) => parent_id === id)
      .map(({ credential_id, status, scope, holder_bound, expires_at }) => ({
        id: credential_id,
        status,
        scope,
        isBound: holder_bound,
        expiresAt: expires_at,
        children: toChildren(detail, credential_id),
      }))
  let node: TreeNode = {
    id: root.credential_id,
    status: root.status,
    scope: root.scope,
    isBound: root.holder_bound,
    expiresAt: root.expires_at,
    children: toChildren(root, root.credential_id),
  }
  if (root === own)
    for (const { credential_id, status, holder_bound } of own.parents)
      node = {
        id: credential_id,
        status,
        scope: undefined,
        isBound: holder_bound,
        expiresAt: undefined,
        children: [node],
      }
  return { root: node, isComplete: root.descendants_complete }
}

const TONES: Readonly<Record<TreeNode['status'], Tone>> = {
  active: 'good',
  revoked: 'bad',
  expired: 'none',
  unknown: 'silent',
}

interface TreeProps {
  readonly siteId: string
  readonly tree: Tree
  readonly chosen: string
}

/** The delegation tree. Pointing at a credential marks what its revocation would end. */
export function DelegationTree({ siteId, tree, chosen }: TreeProps): JSX.Element {
  const [pointed, setPointed] = useState<string>()
  const marked = findNode(tree.root, pointed ?? chosen)
  const ends = marked === undefined ? [] : listNodes(marked).filter(({ status }) => status === 'active')
  const below = marked === undefined ? new Set<string>() : new Set(listNodes(marked).map(({ id }) => id))
  return (
    <section class="card flush">
      <header>
        <h2>{say('Delegation')}</h2>
        <span class="meta">{say('Scope can only narrow from left to right')}</span>
      </header>
      <ul class="family" aria-label={say('Delegation tree')}>
        <Branch siteId={siteId} node={tree.root} chosen={chosen} below={below} onPoint={setPointed} />
      </ul>
      {!tree.isComplete && (
        <p class="caption">{say('There are more delegated credentials than are drawn.')}</p>
      )}
      {marked !== undefined && (
        <p class="hit-line">
          <StateMark tone={ends.length === 0 ? 'none' : 'bad'} size={14} />
          <span>
            {ends.length === 0
              ? say('{id} and everything below it has ended.', {
                  id: <strong>{shorten(marked.id)}</strong>,
                })
              : sayCount(
                  ends.length,
                  'Revoking {id} ends {count} known credential: itself and everything below it.',
                  'Revoking {id} ends {count} known credentials: itself and everything below it.',
                  { id: <strong>{shorten(marked.id)}</strong> },
                )}
          </span>
          {ends.length > 0 && marked.status === 'active' && mayRevoke(siteId) && (
            <button type="button" class="danger" onClick={() => startRevoke(siteId, marked.id)}>
              {say('Revoke {id}', { id: shorten(marked.id) })}
            </button>
          )}
        </p>
      )}
    </section>
  )
}

const STATUS_WORDS: Readonly<Record<TreeNode['status'], string>> = {
  active: say('active'),
  revoked: say('revoked'),
  expired: say('expired'),
  unknown: say('unknown'),
}

interface BranchProps {
  readonly siteId: string
  readonly node: TreeNode
  readonly chosen: string
  readonly below: ReadonlySet<string>
  readonly onPoint: (id: string) => void
}

function Branch({ siteId, node, chosen, below, onPoint }: BranchProps): JSX.Element {
  const { id, status, scope, isBound, expiresAt, children } = node
  const classes = ['family-node', status, below.has(id) ? 'hit' : '', id === chosen ? 'own' : '']
  return (
    <li data-credential={id} data-status={status}>
      <a
        class={classes.join(' ')}
        href={sitePath(siteId, 'credentials', id)}
        aria-current={id === chosen ? 'true' : undefined}
        title={id}
        onMouseEnter={() => onPoint(id)}
        onFocus={() => onPoint(id)}
      >
        <span class="family-name">
          <StateMark tone={TONES[status]} /> <code>{shorten(id)}</code>
          <span class="family-status">{STATUS_WORDS[status]}</span>
        </span>
        <span class="meta">{scope === undefined ? say('scope not recorded') : scope.join(', ')}</span>
        <span class="meta">
          {sayList([
            isBound ? say('bound to a key') : say('not bound'),
            ...(expiresAt === undefined ? [] : [say('until {time}', { time: formatMoment(expiresAt) })]),
          ])}
        </span>
      </a>
      {children.length > 0 && (
        <ul>
          {children.map((child) => (
            <Branch
              key={child.id}
              siteId={siteId}
              node={child}
              chosen={chosen}
              below={below}
              onPoint={onPoint}
            />
          ))}
        </ul>
      )}
    </li>
  )
}

function findNode(node: TreeNode, id: string): TreeNode | undefined {
  if (node.id === id) return node
  for (const child of node.children) {
    const found = findNode(child, id)
    if (found !== undefined) return found
  }
  return undefined
}

function listNodes(node: TreeNode): readonly TreeNode[] {
  return [node, ...node.children.flatMap(listNodes)]
}
