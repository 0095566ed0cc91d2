//! Each rewrite alone: the bound logical tree, the tree after the rewrite, and no change when it is switched off.

mod common;

use common::Tables;
use plan::{NoFunctions, Optimizer, Rewrite, RewritesOff, logical_text};

/// The bound tree, and the tree after all rewrites except those named.
fn trees(text: &str, off: &str) -> (String, String) {
    let statement = sql::parse_statement(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let optimizer =
        Optimizer { rewrites_off: RewritesOff::of(off).expect("names of rewrites"), ..Optimizer::default() };
    logical_text(&statement, &Tables, &NoFunctions, &optimizer).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// The tree after a single rewrite.
fn only(rewrite: Rewrite, text: &str) -> String {
    let others = Rewrite::ALL.iter().filter(|(other, _)| *other != rewrite).map(|(_, name)| *name);
    trees(text, &others.collect::<Vec<_>>().join(",")).1
}

#[test]
fn nothing_is_rewritten_when_all_is_switched_off() {
    for text in [
        "select * from big where exists (select 1 from small where small.k = big.id)",
        "select * from big b left join small s on b.id = s.id where s.k = 1",
        "select * from (select k, count(*) c from big group by k) where k = 1",
    ] {
        let (bound, rewritten) = trees(text, "ALL");
        assert_eq!(bound, rewritten, "{text}");
        assert_ne!(bound, trees(text, "").1, "{text}");
    }
    assert_eq!(RewritesOff::of("unnest, push"), RewritesOff::of("PUSH UNNEST"));
    assert_eq!(RewritesOff::of("nonsense"), None);
}

#[test]
fn aggregates_of_lists_and_groups_become_joins() {
    let sum = "(select sum(small.id) from small where small.k = big.k)";
    let joined = [
        format!("select big.id, {sum} from big"),
        format!("select big.id, nvl({sum}, 0) + big.id from big order by big.id"),
        format!("select count(*), max(x) from (select big.id, {sum} x from big)"),
        format!("select x, count(*) from (select big.id, {sum} x from big) group by x"),
        format!("select id, x from (select /*+ no_merge */ big.id, {sum} x from big) where id > 1"),
        format!("select {sum} from big union all select id from small"),
    ];
    for text in joined {
        let tree = only(Rewrite::Unnest, &text);
        assert!(tree.contains("LEFT VW_SQ_1 ["), "{text}\n{tree}");
    }
    let kept = [
        format!("select big.id, {sum} from big where rownum < 10"),
        format!("select big.id, {sum} from big fetch first 3 rows only"),
        // A column that is also used in a condition.
        format!("select id, x from (select big.id, {sum} x from big) where x > 3"),
        format!("select x from (select big.id, {sum} x from big) v where exists (select 1 from small where id = v.x)"),
        "select big.id, (select /*+ no_unnest */ sum(small.id) from small where small.k = big.k) from big".to_owned(),
        "select big.id, (select small.id from small where small.k = big.k) from big".to_owned(),
        format!("select case when big.id > 3 then {sum} end from big"),
        format!("select coalesce(big.k, {sum}) from big"),
    ];
    for text in kept {
        let tree = only(Rewrite::Unnest, &text);
        assert!(!tree.contains("VW_SQ"), "{text}\n{tree}");
    }
}

#[test]
fn subqueries_become_joins() {
    let cases = [
        ("exists (select 1 from small where small.k = big.id and small.d > sysdate)", "SEMI SMALL ["),
        ("not exists (select 1 from small where small.k = big.id)", "ANTI SMALL ["),
        ("id in (select k from small)", "SEMI SMALL [BIG.ID=SMALL.K]"),
        ("id not in (select id from small)", "ANTI SMALL [BIG.ID=SMALL.ID]"),
        ("id not in (select k from small)", "ANTI NA SMALL ["),
        ("id not in (select k from small where k is not null)", "ANTI SMALL ["),
        ("id in (select s.k from small s, seen where seen.id = s.id)", "SEMI JOIN [BIG.ID=S.K]"),
        ("id in (select k from small group by k having count(*) > 1)", "SEMI VW_NSO_1 ["),
        ("id > (select max(id) from seen where seen.k = big.k)", "LEFT VW_SQ_1 ["),
        ("exists (select 1 from small where small.k > big.id)", "SEMI SMALL ["),
        ("not exists (select 1 from small where big.id between small.k and small.k + 3)", "ANTI SMALL ["),
        ("id > any (select id from small where small.k = big.k)", "SEMI SMALL [SMALL.K=BIG.K AND BIG.ID>SMALL.ID]"),
        ("id <> any (select k from small where small.k < big.k)", "SEMI SMALL [SMALL.K<BIG.K AND BIG.ID<>SMALL.K]"),
        ("id <= all (select id from small where small.k = big.k)", "ANTI SMALL [SMALL.K=BIG.K AND BIG.ID>SMALL.ID]"),
        (
            "id <= all (select k from small where small.id = big.k)",
            "ANTI SMALL [SMALL.ID=BIG.K AND (BIG.ID>SMALL.K OR BIG.ID IS NULL OR SMALL.K IS NULL)]",
        ),
        ("not id > any (select id from small where small.k = big.k)", "ANTI SMALL [SMALL.K=BIG.K AND BIG.ID>SMALL.ID]"),
        (
            "not id > all (select id from small where small.k = big.k)",
            "SEMI SMALL [SMALL.K=BIG.K AND BIG.ID<=SMALL.ID]",
        ),
        ("id > any (select id from small where small.k <> big.k)", "SEMI SMALL [SMALL.K<>BIG.K AND BIG.ID>SMALL.ID]"),
        ("id > all (select id from small where small.k <> big.k)", "ANTI SMALL [SMALL.K<>BIG.K AND BIG.ID<=SMALL.ID]"),
    ];
    for (cond, expected) in cases {
        let tree = only(Rewrite::Unnest, &format!("select * from big where {cond}"));
        assert!(tree.contains(expected) && !tree.contains("SUBQUERY"), "{cond}\n{tree}");
    }
    // A query without an equality or order comparison stays, and so does one under a hint or under OR.
    let kept = [
        "exists (select 1 from small where small.k <> big.id)",
        "exists (select 1 from small where small.k > big.id + small.id)",
        "exists (select /*+ no_unnest */ 1 from small where small.k = big.id)",
        "id = 1 or exists (select 1 from small where small.k = big.id)",
        "exists (select 1 from small where small.k = big.id and rownum < 2)",
        "exists (select 1 from small)",
        "id > any (select id from small)",
        "id > all (select k from small where small.k <> big.k)",
        "id <> any (select id from small where small.k <> big.k)",
        "id < any (select max(id) from small where small.k = big.k)",
    ];
    for cond in kept {
        let tree = only(Rewrite::Unnest, &format!("select * from big where {cond}"));
        assert!(tree.contains("SUBQUERY") && !tree.contains("SEMI"), "{cond}\n{tree}");
    }
}

#[test]
fn outer_joins_that_lose_their_nulls_are_inner() {
    let on = "select * from big b left join small s on b.id = s.id where";
    for cond in ["s.k = 1", "s.k + 1 > b.k", "s.name like 'a%'", "s.k is not null", "s.k = 1 or s.k = 2"] {
        let tree = only(Rewrite::OuterToInner, &format!("{on} {cond}"));
        assert!(!tree.contains("LEFT"), "{cond}\n{tree}");
    }
    for cond in ["s.k is null", "nvl(s.k, 1) = 1", "s.k = 1 or b.k = 2", "b.k = 1", "s.name || 'x' = 'x'"] {
        let tree = only(Rewrite::OuterToInner, &format!("{on} {cond}"));
        assert!(tree.contains("LEFT S"), "{cond}\n{tree}");
    }
}

#[test]
fn full_outer_joins_that_lose_nulls_of_a_side_are_outer_or_inner() {
    let on = "select * from big b full join small s on b.id = s.id where";
    let tree = |cond: &str| only(Rewrite::OuterToInner, &format!("{on} {cond}"));
    for (cond, kept, optional) in [("b.k = 1", "BIG B", "LEFT S"), ("s.k is not null", "SMALL S", "LEFT B")] {
        let tree = tree(cond);
        assert!(!tree.contains("FULL") && tree.contains(optional), "{cond}, {kept}\n{tree}");
    }
    for cond in ["b.k = s.k", "b.k = 1 and s.k = 2", "b.k = 1 and s.id in (select id from seen)"] {
        let tree = tree(cond);
        assert!(!tree.contains("FULL") && !tree.contains("LEFT"), "{cond}\n{tree}");
    }
    for cond in ["b.k is null", "nvl(b.k, s.k) = 1", "b.k = 1 or s.k = 1", "b.k not in (select k from seen)"] {
        assert!(tree(cond).contains("FULL"), "{cond}\n{}", tree(cond));
    }
}

#[test]
fn conditions_go_into_views() {
    let inside = |text: &str| {
        let tree = only(Rewrite::Push, text);
        let deepest = tree.lines().rfind(|line| line.trim_start().starts_with("WHERE")).map(str::to_owned);
        deepest.unwrap_or_default().contains("BIG.K=1")
    };
    assert!(inside("select * from (select k, count(*) c from big group by k) where k = 1"));
    assert!(inside("select * from (select distinct k, id from big) where k = 1"));
    assert!(inside("select * from (select k from big union all select k from big) where k = 1"));
    assert!(inside("select * from (select k, row_number() over (partition by k order by id) n from big) where k = 1"));
    assert!(inside("select k, count(*) from big group by k having k = 1"));
    assert!(!inside("select * from (select id, row_number() over (order by id) n, k from big) where k = 1"));
    assert!(!inside("select * from (select k from big where rownum < 5) where k = 1"));
    assert!(!inside("select * from (select k from big order by id fetch first 5 rows only) where k = 1"));
    assert!(!inside("select * from (select k, count(*) c from big group by rollup (k)) where k = 1"));
    assert!(!inside("select * from small s left join (select distinct k from big) v on s.k = v.k where v.k = 1"));
}

#[test]
fn constants_are_copied_over_equalities() {
    let tree = only(Rewrite::Transitive, "select * from big, small where big.id = small.k and small.k = 7");
    assert!(tree.contains("BIG.ID=7"), "{tree}");
    let tree = only(Rewrite::Transitive, "select * from big, small where big.id = small.k and small.k in (1, 2)");
    assert!(tree.contains("BIG.ID IN (1,2)"), "{tree}");
    // Conditions are copied into the outer join, not out of it.
    let tree = only(Rewrite::Transitive, "select * from big left join small on big.id = small.k where big.id = 7");
    assert!(tree.contains("SMALL.K=7"), "{tree}");
    let tree = only(Rewrite::Transitive, "select * from big left join small on big.id = small.k and small.k = 7");
    assert!(!tree.contains("BIG.ID=7"), "{tree}");
}

#[test]
fn factors_common_to_all_branches_of_an_or_are_extracted() {
    let tree = only(
        Rewrite::Factor,
        "select * from big, small where big.id = small.id and big.k > 1 or big.id = small.id and small.k > 2",
    );
    assert!(tree.contains("WHERE [BIG.ID=SMALL.ID AND (BIG.K>1 OR SMALL.K>2)]"), "{tree}");
    let tree = only(Rewrite::Factor, "select * from big where id = 1 or id = 2 or k = 3");
    assert!(tree.contains("BIG.ID IN (1,2) OR BIG.K=3"), "{tree}");
    // A branch that contains only the common factor decides.
    let tree = only(Rewrite::Factor, "select * from big where id > 1 and k = 2 or id > 1");
    assert!(tree.contains("WHERE [BIG.ID>1]"), "{tree}");
    let tree = only(
        Rewrite::Derive,
        "select * from big, small where big.id = small.id and (big.k = 1 and small.k = 2 or big.k = 3 and small.k = 4)",
    );
    assert!(tree.contains("(BIG.K=1 OR BIG.K=3)") && tree.contains("(SMALL.K=2 OR SMALL.K=4)"), "{tree}");
}

#[test]
fn joined_tables_that_contribute_nothing_are_eliminated() {
    let has = |tree: &str, alias: &str| tree.lines().any(|line| line.split_whitespace().any(|word| word == alias));
    let gone = |text: &str| {
        let tree = only(Rewrite::Eliminate, text);
        (!has(&tree, "D"), tree)
    };
    // A parent, removed by its foreign key: the child's key must not be NULL.
    for text in [
        "select e.name from emp e, dept d where e.k = d.id",
        "select e.name from emp e join dept d on d.id = e.k",
        "select count(*) from emp e, dept d where e.k = d.id and e.id > 3",
        "select e.name from emp e, dept d where e.k = d.id and d.id in (1, 2)",
        "select name from (select e.name, d.name n from emp e, dept d where e.k = d.id)",
    ] {
        let (gone, tree) = gone(text);
        assert!(gone && tree.contains("E.K IS NOT NULL"), "{text}\n{tree}");
    }
    let tree = only(Rewrite::Eliminate, "select e.name from emp e, dept d where e.k = d.id and d.id in (1, 2)");
    assert!(tree.contains("E.K IN (1,2)"), "{tree}");
    // A subquery that has become a semijoin, with both rewrites on.
    let (_, tree) = trees("select name from emp e where exists (select 1 from dept d where d.id = e.k)", "");
    assert!(!tree.contains("SEMI") && tree.contains("E.K IS NOT NULL"), "{tree}");
    let (_, tree) = trees("select name from emp e where not exists (select 1 from dept d where d.id = e.k)", "");
    assert!(tree.contains("ANTI"), "{tree}");
    // The optional side of an outer join, removed by its unique key.
    for text in [
        "select e.name from emp e left join dept d on e.k = d.id",
        "select e.name from emp e, dept d where e.id = d.id (+)",
        "select e.name from emp e left join dept d on d.id = e.id + 1 and d.k > 3",
    ] {
        let (gone, tree) = gone(text);
        assert!(gone && !tree.contains("NOT NULL"), "{text}\n{tree}");
    }
    // Other columns are read, or there may be several matches, or none.
    for text in [
        "select e.name, d.name from emp e, dept d where e.k = d.id",
        "select e.name from emp e, dept d where e.k = d.id and d.name > 'a'",
        "select e.name from emp e, dept d where e.k = d.id order by d.d",
        "select e.name, d.rowid from emp e, dept d where e.k = d.id",
        "select e.name from emp e, dept d where e.k = d.id and exists (select 1 from small where small.id > d.k)",
        "select e.name from emp e, dept d where e.id = d.id",
        "select e.name from emp e, dept d where e.k > d.id",
        "select d.name from dept d, emp e where e.k = d.id",
        "select e.name from emp e left join dept d on e.k = d.k",
        "select e.name from emp e left join dept d on e.k < d.id",
        "select e.name, d.id from emp e left join dept d on e.k = d.id",
        "select e.name, s.name from emp e left join dept d on e.k = d.id left join small s on s.id = d.k",
        "select e.name from emp e, dept as of scn 1 d where e.k = d.id",
        "select /*+ no_eliminate_join(d) */ e.name from emp e, dept d where e.k = d.id",
        "select e.name from emp_disabled e, dept d where e.k = d.id",
        "select e.name from emp_novalidate e, dept d where e.k = d.id",
        "select e.name from emp_deferrable e, dept d where e.k = d.id",
    ] {
        let (gone, tree) = gone(text);
        assert!(!gone, "{text}\n{tree}");
    }
}

#[test]
fn the_parameter_keeps_joins_and_a_hint_is_above_it() {
    let tree = |text: &str| {
        let statement = sql::parse_statement(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let optimizer = Optimizer { keeps_joins: true, ..Optimizer::default() };
        logical_text(&statement, &Tables, &NoFunctions, &optimizer).unwrap_or_else(|e| panic!("{text}: {e}")).1
    };
    assert!(tree("select e.name from emp e, dept d where e.k = d.id").contains(" D\n"));
    assert!(!tree("select /*+ eliminate_join(d) */ e.name from emp e, dept d where e.k = d.id").contains(" D\n"));
}
