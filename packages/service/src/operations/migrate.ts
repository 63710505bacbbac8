import type { Store } from '../store/store.ts'
import { type StoreSettings, withStore } from './with-store.ts'

/** Brings the schema up to date, as every start does. Creates a missing embedded store. */
export function migrate(settings: StoreSettings): Promise<Pick<Store, 'kind' | 'epoch'>> {
  return withStore(settings, async ({ store: { kind, epoch } }) => ({ kind, epoch }))
}
