import { CommandError, type Verb } from '../command.ts'
import { connect } from '../service/connection.ts'

export const console: Verb = {
  options: [
    ['--person <person_id>', 'who signs in; default: the only active person'],
    ['--name <text>', 'if there is no person yet: add an operator with this name first'],
  ],
  shares: ['service'],
  examples: [
    ['countersign console', 'print a link that signs the only person in'],
    ['countersign console --name Ada', 'add the first person, and print a link'],
    ['countersign console --person person_01k…', 'print a link for this person'],
  ],
  about: [
    'Needs an operator key. Open the link in a browser: it signs the person in. It is valid for one minute, once. Anyone who has the link can use it.',
  ],
  async run(given, at) {
    const { client } = await connect(given, at, 'operator')
    const person_id = given.text('person') ?? (await findPerson(client, given.text('name')))
    const link = await client.createConsoleLink({ person_id })
    at.result(link, () => link.url)
    if (!at.isJson) at.note(`For ${person_id}. Valid until ${link.expires_at}, once.`)
    return 0
  },
}

type Client = Awaited<ReturnType<typeof connect>>['client']

/** The only active person; the first one, who is an operator, is added by name. */
async function findPerson(client: Client, name: string | undefined): Promise<string> {
  const { allItems } = await import('@countersign/sdk/client')
  const active: string[] = []
  for await (const { person_id, status } of allItems(client.listPeople, {})) {
    if (status === 'active') active.push(person_id)
    if (active.length > 1) break
  }
  const [only, more] = active
  if (only === undefined && name !== undefined)
    return (await client.createPerson({ name, roles: [{ site_id: null, role: 'operator' }] })).person_id
  if (only === undefined)
    throw new CommandError(
      'not_found',
      'There is no active person. Add an operator and sign in: countersign console --name <name>. For other roles: countersign people add',
    )
  if (more === undefined && name === undefined) return only
  throw new CommandError(
    'not_found',
    name === undefined
      ? 'There are several people. Choose one: countersign people list, then countersign console --person <person_id>'
      : 'There are people already. Add another one: countersign people add',
  )
}
