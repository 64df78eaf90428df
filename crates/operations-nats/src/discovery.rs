//! Who serves what, put together from what workers said.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::wire::Notice;

/// The answers of workers as one JSON object: `{ operations, workers }`, each in the order of their names.
#[must_use]
pub fn summary(answers: Vec<Notice>) -> String {
    let mut workers: BTreeMap<(String, Arc<str>), Value> = BTreeMap::new();
    let mut served: BTreeMap<(String, Arc<str>), Vec<Arc<str>>> = BTreeMap::new();
    let mut operations: BTreeMap<Arc<str>, (Value, Vec<Arc<str>>)> = BTreeMap::new();
    for answer in answers {
        let Notice::Worker {
            from,
            name,
            concurrency,
            running,
            operations: part,
            ..
        } = answer
        else {
            continue;
        };
        let key = (name.clone(), Arc::clone(&from));
        workers.insert(
            key.clone(),
            json!({ "id": &*from, "name": name, "concurrency": concurrency, "running": running }),
        );
        for operation in part {
            served
                .entry(key.clone())
                .or_default()
                .push(Arc::clone(&operation.id));
            let (_, holders) = operations
                .entry(Arc::clone(&operation.id))
                .or_insert_with(|| {
                    let mut entry =
                        json!({ "operationId": &*operation.id, "type": operation.kind });
                    if let (Some(Value::Object(spec)), Some(entry)) =
                        (&operation.spec, entry.as_object_mut())
                    {
                        let members = spec.iter().filter(|(name, _)| *name != "operationId");
                        entry.extend(members.map(|(name, value)| (name.clone(), value.clone())));
                    }
                    if let (Some(description), Some(entry)) =
                        (&operation.description, entry.as_object_mut())
                    {
                        entry.insert("description".to_owned(), json!(description));
                    }
                    (entry, Vec::new())
                });
            if !holders.contains(&from) {
                holders.push(Arc::clone(&from));
            }
        }
    }
    let names = |ids: &[Arc<str>]| -> Vec<String> { ids.iter().map(ToString::to_string).collect() };
    let workers: Vec<Value> = workers
        .into_iter()
        .map(|(key, mut worker)| {
            let ids = served.get(&key).map(|ids| names(ids)).unwrap_or_default();
            if let Some(worker) = worker.as_object_mut() {
                worker.insert("operations".to_owned(), json!(ids));
            }
            worker
        })
        .collect();
    let operations: Vec<Value> = operations
        .into_values()
        .map(|(mut operation, holders)| {
            if let Some(operation) = operation.as_object_mut() {
                operation.insert("workers".to_owned(), json!(names(&holders)));
            }
            operation
        })
        .collect();
    json!({ "operations": operations, "workers": workers }).to_string()
}
