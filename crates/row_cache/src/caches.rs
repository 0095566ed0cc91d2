//! The list of caches: the rows of `v$rowcache`.
//!
//! Names and numbers up to `dc_histogram_data`, and the appearance of `dc_cdbprops` in 12.2, follow Oracle's view. The
//! order gives the child latch of `dc_props` its published number. Caches that Latchwork never fills are listed as they
//! are in an Oracle database without the option that fills them.

use latch::Generation;

/// The place of a cache in the hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// PARENT.
    Parent,
    /// SUBORDINATE, with its number among the subordinates of its parent.
    Subordinate(u8),
}

struct Row {
    id: u8,
    name: &'static str,
    rank: Rank,
    buckets: u32,
}

/// Hash buckets of a cache with a row for every object, and of the others.
const MANY: u32 = 2048;
const FEW: u32 = 128;

macro_rules! caches {
    ($( $variant:ident | $id:literal | $name:literal | $rank:expr, $buckets:ident; )*) => {
        /// A cache: a row of `v$rowcache`. Its place in the list, from 1, is the number of its child latch.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Cache { $( #[doc = concat!("`", $name, "`, cache ", $id)] $variant ),* }

        const ROWS: &[Row] = &[ $( Row { id: $id, name: $name, rank: $rank, buckets: $buckets } ),* ];
        const ALL: &[Cache] = &[ $( Cache::$variant ),* ];
    };
}

use Rank::{Parent, Subordinate};

caches! {
    Tablespaces | 0 | "dc_tablespaces" | Parent, FEW;
    FreeExtents | 1 | "dc_free_extents" | Parent, FEW;
    Segments | 2 | "dc_segments" | Parent, MANY;
    RollbackSegments | 3 | "dc_rollback_segments" | Parent, FEW;
    UsedExtents | 4 | "dc_used_extents" | Parent, FEW;
    TablespaceQuotas | 5 | "dc_tablespace_quotas" | Parent, FEW;
    Files | 6 | "dc_files" | Parent, FEW;
    UserIds | 7 | "dc_users" | Parent, MANY;
    UserGrants | 7 | "dc_user_grants" | Subordinate(0), MANY;
    Objects | 8 | "dc_objects" | Parent, MANY;
    ObjectGrants | 8 | "dc_object_grants" | Subordinate(0), MANY;
    QmcEntries | 9 | "dc_qmc_cache_entries" | Parent, FEW;
    Users | 10 | "dc_users" | Parent, MANY;
    ObjectIds | 11 | "dc_objects" | Parent, MANY;
    Constraints | 12 | "dc_constraints" | Parent, MANY;
    Sequences | 13 | "dc_sequences" | Parent, MANY;
    Profiles | 14 | "dc_profiles" | Parent, FEW;
    Props | 15 | "dc_props" | Parent, FEW;
    HistogramDefs | 16 | "dc_histogram_defs" | Parent, MANY;
    HistogramData | 16 | "dc_histogram_data" | Subordinate(0), MANY;
    HistogramValues | 16 | "dc_histogram_data" | Subordinate(1), FEW;
    GlobalOids | 17 | "dc_global_oids" | Parent, FEW;
    Outlines | 18 | "dc_outlines" | Parent, FEW;
    TableScns | 19 | "dc_table_scns" | Parent, FEW;
    RuleInfo | 20 | "rule_info" | Parent, FEW;
    RuleOrPiece | 21 | "rule_or_piece" | Parent, FEW;
    AwrControl | 22 | "dc_awr_control" | Parent, FEW;
    QmcLdap | 23 | "dc_qmc_ldap_cache_entries" | Parent, FEW;
    Alerts | 24 | "outstanding_alerts" | Parent, FEW;
    Hintsets | 25 | "dc_hintsets" | Parent, FEW;
    GlobalName | 26 | "global database name" | Parent, FEW;
    Qmtmrcin | 27 | "qmtmrcin_cache_entries" | Parent, FEW;
    Qmtmrctn | 28 | "qmtmrctn_cache_entries" | Parent, FEW;
    Qmtmrcip | 29 | "qmtmrcip_cache_entries" | Parent, FEW;
    Qmtmrctp | 30 | "qmtmrctp_cache_entries" | Parent, FEW;
    Qmtmrciq | 31 | "qmtmrciq_cache_entries" | Parent, FEW;
    Qmtmrctq | 32 | "qmtmrctq_cache_entries" | Parent, FEW;
    Qmrc | 33 | "qmrc_cache_entries" | Parent, FEW;
    Qmemod | 34 | "qmemod_cache_entries" | Parent, FEW;
    EncryptedObjects | 35 | "dc_encrypted_objects" | Parent, FEW;
    EncryptionProfiles | 36 | "dc_encryption_profiles" | Parent, FEW;
    EventMap | 37 | "event map" | Parent, FEW;
    Smo | 38 | "SMO rowcache" | Parent, FEW;
    TritonNames | 39 | "triton security name to ID" | Parent, FEW;
    RuleOperators | 40 | "rule_fast_operators" | Parent, FEW;
    LjObjects | 41 | "sch_lj_objs" | Parent, FEW;
    LjOids | 42 | "sch_lj_oids" | Parent, FEW;
    AppRoles | 7 | "dc_app_role" | Subordinate(1), FEW;
    SecurityUsers | 43 | "extensible security user and rol" | Parent, FEW;
    SecurityNames | 44 | "extensible security principal na" | Parent, FEW;
    SecurityObjects | 45 | "extensible security obj" | Parent, FEW;
    SecurityPasswords | 46 | "extensible security principal pa" | Parent, FEW;
    SecurityMidtier | 47 | "extensible security midtier cach" | Parent, FEW;
    Av1 | 48 | "AV row cache 1" | Parent, FEW;
    Av2 | 49 | "AV row cache 2" | Parent, FEW;
    Av3 | 50 | "AV row cache 3" | Parent, FEW;
    PartitionScns | 51 | "dc_partition_scns" | Parent, FEW;
    Realm | 52 | "realm cache" | Parent, FEW;
    RealmAuth | 53 | "realm auth" | Parent, FEW;
    RealmObject | 54 | "Realm Object cache" | Parent, FEW;
    CommandRule | 55 | "Command rule cache" | Parent, FEW;
    RuleSet | 56 | "Rule Set Cache" | Parent, FEW;
    PdbDba | 57 | "dc_pdbdba" | Parent, FEW;
    PdbStates | 58 | "dc_pdbstates" | Parent, FEW;
    CdbFiles | 59 | "dc_cdbfiles" | Parent, FEW;
    Synonyms | 60 | "dc_synonyms" | Parent, MANY;
    SystemPrivileges | 61 | "dc_system_privileges" | Parent, FEW;
    Directories | 62 | "dc_directories" | Parent, FEW;
    Triggers | 63 | "dc_triggers" | Parent, MANY;
    Jobs | 64 | "dc_jobs" | Parent, FEW;
    CdbProps | 65 | "dc_cdbprops" | Parent, FEW;
}

impl Cache {
    /// The number of caches in the newest generation.
    pub const COUNT: usize = ROWS.len();

    /// All caches in the order of their child latches.
    pub fn all() -> impl ExactSizeIterator<Item = Cache> {
        ALL.iter().copied()
    }

    /// The cache at that index of the list.
    pub fn from_index(index: usize) -> Option<Cache> {
        ALL.get(index).copied()
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// CACHE#, KQRSTCID; P1 of the waits.
    #[inline]
    pub fn id(self) -> u8 {
        self.row().id
    }

    /// PARAMETER, KQRSTTXT.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// TYPE and SUBORDINATE#.
    pub fn rank(self) -> Rank {
        self.row().rank
    }

    /// Hash buckets; a power of two.
    pub(crate) fn buckets(self) -> u32 {
        self.row().buckets
    }

    /// The child latch's number: KQRSTCLN.
    pub fn latch_number(self) -> u32 {
        self as u32 + 1
    }

    /// Whether the cache exists in a generation.
    pub fn exists_in(self, generation: Generation) -> bool {
        self != Cache::CdbProps || generation >= Generation::V12_2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_published_numbers_are_there() {
        let rows = |g| Cache::all().filter(|cache| cache.exists_in(g)).count();
        assert_eq!((rows(Generation::V12_1), rows(Generation::V12_2), rows(Generation::Latchwork)), (70, 71, 71));
        assert_eq!((Cache::Props.id(), Cache::Props.latch_number(), Cache::Props.name()), (15, 18, "dc_props"));
        let ids: HashSet<_> = Cache::all().map(|cache| (cache.id(), cache.rank() == Parent, cache as u8)).collect();
        assert_eq!(ids.len(), Cache::COUNT);
        let parents: HashSet<_> = Cache::all().filter(|c| c.rank() == Parent).map(Cache::id).collect();
        assert_eq!(parents.len(), Cache::all().filter(|c| c.rank() == Parent).count());
        assert!(Cache::all().filter(|c| c.rank() != Parent).all(|c| parents.contains(&c.id())));
    }
}
