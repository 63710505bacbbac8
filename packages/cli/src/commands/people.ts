import { type Given, type Group, UsageError } from '../command.ts'
import { connect } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'
import { confirmRemoval } from '../terminal/confirm.ts'
import { facts } from '../terminal/output.ts'

const ROLES = 'viewer@<site>, responder@<site>, issuing@<site>, admin@<site> or operator; may be repeated'
const PERSON = [['<person_id>', 'person_…, as people list prints it']] as const

/** `viewer@shop.example` or `operator`. The service checks the names. */
function parseRoles(given: Given): { site_id: string | null; role: never }[] {
  return given.list('role').map((text) => {
    const [role = '', site, more] = text.split('@')
    if (more !== undefined || role === '' || site === '') throw new UsageError(`--role must be ${ROLES}`)
    return { site_id: site ?? null, role: role as never }
  })
}

function showRoles({
  roles,
}: {
  readonly roles: readonly { site_id: string | null; role: string }[]
}): string {
  return roles.map(({ site_id, role }) => (site_id === null ? role : `${role}@${site_id}`)).join(' ')
}

export const people: Group = {
  verbs: {
    list: {
      summary: 'list the people who may sign in',
      options: PAGE_OPTIONS,
      shares: ['service'],
      examples: [['countersign people list', 'list them with their roles']],
      async run(given, at) {
        const { client } = await connect(given, at, 'operator')
        return printList(given, at, 'people', (part) => client.listPeople(part), {
          person: 'person_id',
          name: 'name',
          status: 'status',
          roles: (person) => showRoles(person),
          created: 'created_at',
        })
      },
    },
    add: {
      summary: 'add a person who may sign in',
      words: [['<name>', 'the name of the person, for lists']],
      options: [
        ['--role <role>', ROLES, 'list'],
        ['--reason <text>', 'the reason, for the audit'],
      ],
      shares: ['service'],
      examples: [
        ['countersign people add Ada --role responder@shop.example', 'Ada may look and revoke at one site'],
        ['countersign people add Grace --role operator', 'Grace may do everything'],
      ],
      about: ['Needs an operator key. To sign a person in: countersign console --person <person_id>'],
      async run(given, at) {
        const roles = parseRoles(given)
        const { client } = await connect(given, at, 'operator')
        const person = await client.createPerson({ name: given.word(0), roles, reason: given.text('reason') })
        at.result(person, () => facts(Object.entries({ ...person, roles: showRoles(person) })))
        return 0
      },
    },
    change: {
      summary: 'change the name or the roles of a person, or give access back',
      words: PERSON,
      options: [
        ['--name <text>', 'the new name'],
        ['--role <role>', `the new roles, in place of all roles before: ${ROLES}`, 'list'],
        ['--no-roles', 'remove all roles'],
        ['--reactivate', 'give access back after people end'],
        ['--reason <text>', 'the reason, for the audit'],
      ],
      shares: ['service'],
      examples: [
        ['countersign people change person_01k… --role viewer@shop.example', 'replace all roles by one'],
      ],
      async run(given, at) {
        const roles = parseRoles(given)
        if (roles.length > 0 && given.has('no-roles'))
          throw new UsageError('Give --role or --no-roles, not both')
        const { client } = await connect(given, at, 'operator')
        const person = await client.changePerson({
          person_id: given.word(0),
          name: given.text('name'),
          ...((roles.length > 0 || given.has('no-roles')) && { roles }),
          ...(given.has('reactivate') && { status: 'active' as const }),
          reason: given.text('reason'),
        })
        at.result(person, () => facts(Object.entries({ ...person, roles: showRoles(person) })))
        return 0
      },
    },
    end: {
      summary: 'end the access of a person, and their sessions',
      words: PERSON,
      options: [['--reason <text>', 'the reason, for the audit']],
      shares: ['service', 'removal'],
      examples: [
        [
          'countersign people end person_01k… --reason "left the company" --yes',
          'end it; every node rejects the sessions within two seconds',
        ],
      ],
      about: ['API keys that the person has created stay valid. Delete them with countersign keys delete.'],
      async run(given, at) {
        const { client } = await connect(given, at, 'operator')
        const person_id = given.word(0)
        const removal = {
          act: `end the access of ${person_id}`,
          plan: { action: 'people end', person_id },
        }
        const answer = await confirmRemoval(given, at, removal)
        if (answer !== undefined) return answer
        const person = await client.changePerson({ person_id, status: 'ended', reason: given.text('reason') })
        at.result(person, () => `Ended the access of ${person_id}.`)
        return 0
      },
    },
  },
}
