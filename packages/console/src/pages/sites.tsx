import type { Site } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { toCli } from '../api/command.ts'
import { isOperator, sites } from '../api/session.ts'
import { ActSheet } from '../components/act-sheet.tsx'
import { List } from '../components/list.tsx'
import { showNotice } from '../components/notice.ts'
import { open, sitePath } from '../router.ts'
import { say } from '../say.ts'
import { closeSheet, openSheet, sheet } from '../sheet-place.ts'
import { formatMoment } from '../time.ts'

/** All sites of the service, for operators. */
export function Sites(): JSX.Element {
  return (
    <>
      <List<Site>
        title={say('Sites')}
        about={say('Each site has its own users, issuers, keys and log.')}
        siteId="all"
        path="/api/sites"
        toCli={() => toCli(['sites', 'list'])}
        toKey={({ site_id }) => site_id}
        toHref={({ site_id }) => sitePath(site_id, 'overview')}
        actions={
          isOperator.value && (
            <button type="button" class="primary" onClick={() => openSheet('create')}>
              {say('Create a site')}
            </button>
          )
        }
        columns={[
          {
            title: say('Site'),
            cell: ({ site_id, name }) => (
              <span class="two-lines">
                <strong>{name ?? site_id}</strong>
                {name !== null && <span class="meta">{site_id}</span>}
              </span>
            ),
          },
          {
            title: say('Bearer tokens'),
            cell: ({ bearer }) => (bearer === 'on' ? say('Accepted') : say('Off')),
            isExtra: true,
          },
          {
            title: say('Holder proof'),
            cell: ({ holder_proof }) => (holder_proof === 'required' ? say('Required') : say('Optional')),
            isExtra: true,
          },
          { title: say('Created'), cell: ({ created_at }) => formatMoment(created_at), isNumber: true },
        ]}
        empty={{
          sentence: say('There is no site yet.'),
          command: toCli(['sites', 'create', 'shop.example']),
        }}
      />
      {isOperator.value && sheet.value.act === 'create' && <Create />}
    </>
  )
}

function Create(): JSX.Element {
  const [id, setId] = useState('')
  const [name, setName] = useState('')
  const words = name.trim() === '' ? undefined : name.trim()
  return (
    <ActSheet<Site>
      title={say('Create a site')}
      siteId="all"
      verb={say('Create the site')}
      busyVerb={say('Creating…')}
      toRequest={(reason) =>
        id.trim() === ''
          ? undefined
          : {
              method: 'POST',
              path: '/api/sites',
              site: 'all',
              body: { site_id: id.trim(), name: words, reason },
            }
      }
      toCli={(reason) => toCli(['sites', 'create', id.trim()], { name: words, reason })}
      onDone={(site) => {
        sites.value = [...sites.value, { site_id: site.site_id, name: site.name }]
        showNotice(say('The site was created.'))
        open(sitePath(site.site_id, 'issuers'))
      }}
      onClose={closeSheet}
    >
      <label>
        {say('Site')}
        <input
          data-first=""
          spellcheck={false}
          maxLength={253}
          value={id}
          placeholder="shop.example"
          onInput={(event) => setId(event.currentTarget.value)}
        />
        <span class="hint">{say('Its host name in lower case. It cannot be changed later.')}</span>
      </label>
      <label>
        {say('Name')} <span class="optional">{say('optional')}</span>
        <input maxLength={128} value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
    </ActSheet>
  )
}
